const { Buffer } = require('node:buffer');

/** require() of the executable: a bundle from inside it, or one of Node's own modules. */
module.exports = function requireAsset(name) {
  const file = /^\.\.\/dist\/(?:([a-z-]+)\/)?main\.c?js$/.exec(name);
  if (file === null) return require(name);
  const [, bundle = 'main'] = file;
  let onUse;
  const loadOnUse = async (path) => (onUse ??= run(`${bundle}.on-use`, { '../main.cjs': start })).load[path]();
  const start = run(bundle, {}, loadOnUse);
  return start;
};

/** Runs a script from inside the executable. Returns its exports. */
function run(script, modules, loadOnUse) {
  const { getRawAsset } = require('node:sea');
  const { Script } = require('node:vm');
  const source = Buffer.from(getRawAsset(`${script}.js`)).latin1Slice();
  const cachedData = Buffer.from(getRawAsset(`${script}.cache`));
  const compiled = new Script(source, { filename: `${script}.js`, cachedData });
  const loaded = { exports: {} };
  compiled.runInThisContext()(loaded.exports, (name) => modules[name] ?? require(name), loaded, loadOnUse);
  return loaded.exports;
}
