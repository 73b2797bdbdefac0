// Joins the modules that a bundle always loads into one script, because Node's loader of ES modules takes 4 ms of CPU,
// and 0.6 ms more for each module.
import { basename } from 'node:path';
import { build } from 'esbuild';
import { bundleOptions } from './bundle-options.mjs';

/**
 * The start of a bundle as a script, and its chunks by name, from the files that esbuild split into `main.js` and
 * chunks. The chunks are ES modules. Those that are not of the start are named in `onUse`. The start or such a chunk
 * loads the `entries` by import(), and these load the others. All take the modules of the start from main.cjs, so that
 * none is loaded twice.
 */
export async function joinStart({ outputFiles, metafile }) {
  const texts = new Map(outputFiles.map(({ path, text }) => [basename(path), text]));
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]));
  const parts = startOf(outputs).filter((name) => name !== 'main.js');
  const contents = [
    "export { main, uncaughtErrorText } from 'main.js';",
    ...parts.map((name, index) => `import * as part${index} from '${name}';`),
    `export const parts = { ${parts.map((name, index) => `'${name}': part${index}`).join(', ')} };`,
  ].join('\n');
  const joined = await build({
    ...optionsOfParts,
    format: 'cjs',
    stdin: { contents },
    plugins: [fromTexts(texts, './chunks')],
    // CommonJS has no import.meta.
    logOverride: { 'empty-import-meta': 'error' },
  });
  texts.delete('main.js');
  const onUse = [...texts.keys()].filter((name) => name.endsWith('.js') && !parts.includes(name));
  const entries = onUse.filter((name) => outputs.get(name).entryPoint !== undefined);
  for (const name of parts) texts.set(name, partOfStart(name, outputs.get(name)));
  return { start: scriptOf(joined.outputFiles[0].text), chunks: texts, onUse, entries };
}

/** The text of a CommonJS module as a script. Its value is a function that runs the module. */
export function scriptOf(code) {
  const text = code.replaceAll(/\bimport\((?="\.\/)/g, 'loadOnUse(');
  return `(function (exports, requireNow, module, loadOnUse) {const require = (${requireOnUse})(requireNow);${text}\n})`;
}

/**
 * A require() that loads some of Node's own modules when a name of theirs is first read. Most starts need none of them,
 * and they take 6 ms. It is part of every script.
 */
function requireOnUse(require) {
  const onUse = /^(?:node:)?(?:dns|https|worker_threads|zlib)$|^node:(?:fs|timers)\/promises$/;
  return (name) => {
    if (!onUse.test(name)) return require(name);
    let loaded;
    const load = () => (loaded ??= require(name));
    return new Proxy(
      {},
      {
        get: (_target, key) => load()[key],
        has: (_target, key) => key in load(),
        ownKeys: () => Reflect.ownKeys(load()),
        // JavaScript wants each to be configurable, because the target does not have it.
        getOwnPropertyDescriptor: (_target, key) =>
          key in load() ? { ...Reflect.getOwnPropertyDescriptor(load(), key), configurable: true } : undefined,
      },
    );
  };
}

/**
 * A chunk of `joinStart` that is loaded on use, as an ES module that exports `load`. That function runs the chunk,
 * which may await at its top. Other chunks stay outside.
 */
export async function loaderOf(name, text) {
  const joined = await build({
    ...optionsOfParts,
    format: 'esm',
    stdin: { contents: `export const load = () => import('${name}');` },
    plugins: [fromTexts(new Map([[name, text]]))],
  });
  return joined.outputFiles[0].text;
}

const { minifySyntax, minifyWhitespace, platform, target } = bundleOptions;
const optionsOfParts = { minifySyntax, minifyWhitespace, platform, target, bundle: true, write: false };

/** Names of the files that main.js loads before it runs, itself included. */
function startOf(outputs) {
  const names = new Set(['main.js']);
  for (const name of names) {
    for (const { kind, path } of outputs.get(name).imports)
      if (kind === 'import-statement' && outputs.has(basename(path))) names.add(basename(path));
  }
  return [...names];
}

/** Has esbuild read these files in place of those on disk. What they load on use is one of them, or stays `outside`. */
const fromTexts = (texts, outside) => ({
  name: 'from-texts',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /.*/ }, ({ kind, path }) => {
      const name = basename(path);
      if (!texts.has(name)) return { path, external: true };
      const staysOutside = outside !== undefined && kind === 'dynamic-import';
      return staysOutside ? { path: `${outside}/${name}`, external: true } : { path: name, namespace: 'texts' };
    });
    onLoad({ filter: /.*/, namespace: 'texts' }, ({ path }) => ({ contents: texts.get(path) }));
  },
});

/** A chunk with the exports of one that is in main.cjs. */
const partOfStart = (name, { exports }) =>
  `export const { ${exports.join(', ')} } = require('../main.cjs').parts['${name}'];\n`;
