// Makes one executable that needs no Node on the machine. It is a copy of this Node with the program inside ("single
// executable application"). Node 20 runs only one CommonJS script there. So each bundle of dist/ is scripts: its start,
// stored beside the code that V8 compiled from it, and the chunks that are loaded on use.
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { builtinModules, createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { build, transform } from 'esbuild';
import { inject } from 'postject';
import { bundleOptions, only, ownBuilds, quickScript, withoutChildProcess } from '../bundle-options.mjs';
import { withCompiler } from '../compile/compiler.mjs';
import { packed } from './pack.mjs';
import { joinStart, loaderOf, scriptOf } from '../join-start.mjs';
import { eagerFunctions } from './eager-functions.mjs';
import { withoutEnvFile } from './without-env-file.mjs';

const root = join(import.meta.dirname, '../..');
const require = createRequire(import.meta.url);

/** Node replaces this text in its copy when something is injected. From the manual of Node. */
const sentinelFuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/**
 * Loads Node's own modules when the module that imports them runs. As imports of the bundle, all would be loaded at
 * the start of every command.
 */
const builtinsOnUse = {
  name: 'builtins-on-use',
  setup({ onResolve, onLoad }) {
    const names = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]));
    onResolve({ filter: /^[a-z:_/0-9]+$/ }, ({ kind, path, namespace }) =>
      kind === 'import-statement' && namespace === 'file' && names.has(path)
        ? { path, namespace: 'builtin' }
        : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({ contents: builtinModule(path) }));
  },
};

/** A module that exports the names of one of Node's own. Names without an importer are never read. */
function builtinModule(name) {
  const exported = Object.getOwnPropertyNames(require(name)).filter((key) => /^[A-Za-z_]\w*$/.test(key));
  const names = exported.filter((key) => key !== 'default' && key !== 'constructor' && key !== 'prototype');
  return [
    `const builtin = require(${JSON.stringify(name)});`,
    'export default builtin;',
    ...names.map(
      (key) => `const the_${key} = /* @__PURE__ */ (() => builtin.${key})(); export { the_${key} as ${key} };`,
    ),
  ].join('\n');
}

/** Development tools of ink: a package that is not installed. */
const withoutDevtools = {
  name: 'ink-without-devtools',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^react-devtools-core$/ }, ({ path }) => ({ path, namespace: 'devtools' }));
    onLoad({ filter: /.*/, namespace: 'devtools' }, () => ({ contents: 'module.exports = {}' }));
  },
};

const options = { ...bundleOptions, external: ['@grpc/proto-loader'], write: false, legalComments: 'none' };

/** All commands as one script. */
async function mainScript() {
  const plugins = [withoutChildProcess, withoutDevtools, builtinsOnUse];
  const { outputFiles } = await build({ ...options, absWorkingDir: root, outdir: '/', plugins });
  return commonJS(outputFiles[0].text);
}

/** One bundle as scripts: its start, and by name each chunk that is loaded on use. */
async function ownScripts(commands) {
  const plugins = [withoutChildProcess, withoutDevtools, only(commands)];
  const split = { splitting: true, metafile: true, chunkNames: 'chunks/[name]-[hash]' };
  const { start, chunks, onUse, entries } = await joinStart(
    await build({ ...options, ...split, absWorkingDir: root, outdir: '/', plugins }),
  );
  const scripts = onUse.map(async (name) => {
    const text = chunks.get(name);
    return [name, await commonJS(entries.includes(name) ? await loaderOf(name, text) : text)];
  });
  return { start, onUse: await Promise.all(scripts) };
}

/**
 * An ES module as a script. It is an ES module first, because esbuild makes async functions of modules with a top-level
 * await there, such as that of ink's layout.
 */
async function commonJS(text) {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20.19',
    minifyWhitespace: true,
    define: { 'import.meta.url': '"file:///kubelet-ts"' },
  });
  return scriptOf(code);
}

/**
 * The script that Node starts: bin/kubelet-ts, whose import() gets the bundles from inside the executable. All its
 * functions are compiled at the build.
 */
async function entryScript(places) {
  const text = await readFile(join(root, 'bin/kubelet-ts'), 'utf8');
  const { code } = await transform(text.replace(/^#!.*/, ''), {
    format: 'cjs',
    supported: { 'dynamic-import': false },
  });
  return eagerFunctions(`${await readFile(join(root, 'scripts/package/require-asset.cjs'), 'utf8')}
(function (require) {${code}
})(module.exports);
function quickScript(module, require) {${await quickScript(root)}}
function places() {return ${JSON.stringify(places)}}
`);
}

/** A script and its compiled code, by name. */
async function compiledScript({ folder, compile }, name, text, bundle) {
  const script = join(folder, `${name}.js`);
  const cache = join(folder, `${name}.cache`);
  await writeFile(script, text);
  await compile(script, cache, bundle);
  return [
    [`${name}.js`, Buffer.from(text)],
    [`${name}.cache`, await readFile(cache)],
  ];
}

/** The files of a bundle: its start, and its chunks. These have no compiled code, because a command uses few. */
async function bundleFiles(target, name, commands) {
  const { start, onUse } = await ownScripts(commands);
  const chunks = onUse.map(([chunk, text]) => [`${name}/${chunk}`, Buffer.from(text)]);
  return { name, start: await compiledScript(target, name, start, name), chunks };
}

/** Writes the executable for this architecture. The file is replaced at once, so a running one keeps running. */
export async function makeExecutable(output) {
  const folder = await mkdtemp(join(tmpdir(), 'kubelet-ts-executable-'));
  try {
    const main = await mainScript();
    const bundles = await withCompiler((compile) =>
      Promise.all([
        compiledScript({ folder, compile }, 'main', main, 'main').then((start) => ({
          name: 'main',
          start,
          chunks: [],
        })),
        ...Object.entries(ownBuilds).map(([name, commands]) => bundleFiles({ folder, compile }, name, commands)),
      ]),
    );
    // One for the start of each bundle, because V8 counts a pack as memory. For one pack of all it would collect all
    // garbage while the agent starts.
    const chunks = bundles.flatMap((bundle) => bundle.chunks);
    const packs = [...bundles.map(({ name, start }) => packed(name, start)), packed('chunks', chunks)];
    const made = join(folder, 'kubelet-ts');
    await execa('strip', ['-o', made, process.execPath]);
    await writeFile(made, withoutEnvFile(await readFile(made), parseInt(process.versions.node, 10)));
    await inject(made, 'NODE_SEA_BLOB', await blobOf(folder, packs), { sentinelFuse });
    await mkdir(dirname(output), { recursive: true });
    await execa('install', ['-m', '0755', made, `${output}.${process.pid}`]);
    await rename(`${output}.${process.pid}`, output);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The blob that Node finds in an executable: the script that it starts, and the packs. */
async function blobOf(folder, packs) {
  const file = (name) => join(folder, name);
  await Promise.all(packs.map(({ name, bytes }) => writeFile(file(name), bytes)));
  await writeFile(file('entry.cjs'), await entryScript(Object.assign({}, ...packs.map(({ places }) => places))));
  const assets = Object.fromEntries(packs.map(({ name }) => [name, file(name)]));
  const config = { main: file('entry.cjs'), output: file('blob'), assets };
  const settings = { useCodeCache: true, disableExperimentalSEAWarning: true };
  await writeFile(file('config.json'), JSON.stringify({ ...config, ...settings }));
  await execa(process.execPath, ['--experimental-sea-config', file('config.json')]);
  return readFile(file('blob'));
}
