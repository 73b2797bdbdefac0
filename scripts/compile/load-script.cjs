// The start of a bundle: runs the script beside this file, with the code that V8 compiled at the build. V8 compiles the
// script again if that code is missing, or is of another V8.
const { readFileSync } = require('node:fs');
const { basename, join } = require('node:path');
const { arch, version } = require('node:process');
const { Script } = require('node:vm');

const bundle = basename(module.path);
const text = readFileSync(join(module.path, `${bundle}.js`), 'latin1');
// Stacks have the name that was compiled.
const script = new Script(text, { filename: `${bundle}.js`, cachedData: compiledCode() });
script.runInThisContext()(exports, require, module, (chunk) => import(chunk));

function compiledCode() {
  try {
    return readFileSync(join(module.path, `${bundle}-${version}-${arch}.cache`));
  } catch {
    return undefined;
  }
}
