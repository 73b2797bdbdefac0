// Writes the code that V8 compiles from a bundle: node compile.cjs <bundle> <output> <command>
//
// V8 compiles a function when it is first called. So the command runs here: `ps` and `top` against an agent with one
// pod, `run`, `run-once` and `ui` as far as their help.
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const process = require('node:process');
const { Script } = require('node:vm');
const agentAnswers = require('./agent-answers.json');

const [file, output, command] = process.argv.slice(2);
const rootDir = mkdtempSync(join(tmpdir(), 'kubelet-ts-compile-'));
const words = {
  main: ['validate', require.resolve('../../manifests/web.yaml')],
  run: ['run', '--help'],
  'run-once': ['run-once', '--help'],
  ui: ['ui', '--help'],
  ps: ['ps', '--root-dir', rootDir],
  top: ['top', '--root-dir', rootDir],
}[command];
const agent = createServer(({ url }, response) => {
  response.end(JSON.stringify(agentAnswers[url.split('?')[0]]));
});
agent.listen(join(rootDir, 'kubelet-ts.sock'), async () => {
  const script = new Script(readFileSync(file, 'latin1'), { filename: `${command}.js` });
  const loaded = { exports: {} };
  script.runInThisContext()(loaded.exports, require, loaded);
  const exitCode = await loaded.exports.main([process.execPath, 'kubelet-ts', ...words]);
  writeFileSync(output, script.createCachedData());
  rmSync(rootDir, { recursive: true });
  process.exit(exitCode);
});
