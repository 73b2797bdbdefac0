/* global quickScript, places -- written by executable.mjs */
const { Buffer } = require('node:buffer');
const process = require('node:process');

/** require() of the executable: a bundle from inside it, or one of Node's own modules. */
module.exports = function requireAsset(name) {
  if (name === '../dist/ps/quick.cjs') return quickPs();
  const file = /^\.\.\/dist\/(?:([a-z-]+)\/)?main\.c?js$/.exec(name);
  if (file === null) return ownModule(name);
  const [, bundle = 'main'] = file;
  const chunks = new Map();
  const chunk = (path) => {
    const chunkName = path.slice(path.lastIndexOf('/') + 1);
    if (start.exports.parts[chunkName] !== undefined) return start.exports.parts[chunkName];
    const loaded = chunks.get(chunkName) ?? { exports: {} };
    if (!chunks.has(chunkName)) {
      chunks.set(chunkName, loaded);
      run(compiled(`${bundle}/${chunkName}`), loaded);
    }
    return loaded.exports;
  };
  const run = (script, loaded) => {
    const requireChunk = (path) => (path.startsWith('./') ? chunk(path) : ownModule(path));
    script.runInThisContext()(loaded.exports, requireChunk, loaded, async (path) => chunk(path).load());
  };
  const start = { exports: {} };
  run(compiled(`${bundle}.js`, `${bundle}.cache`), start);
  return start.exports;
};

/** Part of this script, so that it needs no loader. executable.mjs writes `quickScript` and `places`. */
function quickPs() {
  const loaded = { exports: {} };
  quickScript(loaded, ownModule);
  return loaded.exports;
}

/** A module of Node. Libraries try others, which only make them faster: Node would warn of each on stderr. */
function ownModule(name) {
  const found = process.getBuiltinModule(name);
  if (found !== undefined) return found;
  throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
}

/**
 * A script from inside the executable, with its compiled code if there is some. Both are in one pack, because V8 counts
 * a pack as memory each time it is got. It is free again when this function has returned, before the script runs.
 */
function compiled(name, cache) {
  const { getRawAsset } = require('node:sea');
  const { Script } = require('node:vm');
  const pack = getRawAsset(places()[name][0]);
  const file = ([, offset, length]) => Buffer.from(pack, offset, length);
  const cachedData = cache === undefined ? undefined : file(places()[cache]);
  return new Script(file(places()[name]).latin1Slice(), { filename: name, cachedData });
}
