// Writes the code that V8 compiles from a bundle: node compile.cjs <bundle> <output> <command>
//
// V8 compiles a function when it is first called. So the command runs here, as far as it comes without a runtime.
const { readFileSync, writeFileSync } = require('node:fs');
const process = require('node:process');
const { Script } = require('node:vm');

const [file, output, command] = process.argv.slice(2);
const script = new Script(readFileSync(file, 'latin1'), { filename: `${command}.js` });
const loaded = { exports: {} };
script.runInThisContext()(loaded.exports, require, loaded);
const rootDir = '/nonexistent/kubelet-ts';
const words = {
  main: ['validate', '/dev/null'],
  run: ['run', '--help'],
  'run-once': ['run-once', '--help'],
  ps: ['ps', '--root-dir', rootDir],
  top: ['top', '--root-dir', rootDir],
}[command];
loaded.exports.main([process.execPath, 'kubelet-ts', ...words]).then(() => {
  writeFileSync(output, script.createCachedData());
  process.exit(0);
});
