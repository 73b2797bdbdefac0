const { Buffer } = require('node:buffer');

/** require() of the executable: a bundle from inside it, or one of Node's own modules. */
module.exports = function requireAsset(name) {
  const bundle = /^\.\.\/dist\/(?:([a-z-]+)\/)?main\.c?js$/.exec(name);
  if (bundle === null) return require(name);
  const [, command = 'main'] = bundle;
  const { getRawAsset } = require('node:sea');
  const { Script } = require('node:vm');
  const source = Buffer.from(getRawAsset(`${command}.js`)).latin1Slice();
  const cachedData = Buffer.from(getRawAsset(`${command}.cache`));
  const script = new Script(source, { filename: `${command}.js`, cachedData });
  const loaded = { exports: {} };
  script.runInThisContext()(loaded.exports, require, loaded);
  return loaded.exports;
};
