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
      run(`${bundle}/${chunkName}`, loaded);
    }
    return loaded.exports;
  };
  const run = (script, loaded, cachedData) => {
    const { Script } = require('node:vm');
    const compiled = new Script(asset(script).latin1Slice(), { filename: script, cachedData });
    const requireChunk = (path) => (path.startsWith('./') ? chunk(path) : ownModule(path));
    compiled.runInThisContext()(loaded.exports, requireChunk, loaded, async (path) => chunk(path).load());
  };
  const start = { exports: {} };
  run(`${bundle}.js`, start, asset(`${bundle}.cache`));
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

/** A file from inside the executable, without a copy. */
function asset(name) {
  const { getRawAsset } = require('node:sea');
  const [offset, length] = places()[name];
  return Buffer.from(getRawAsset('pack'), offset, length);
}
