// Writes the code that V8 compiles from a script: node compile.cjs <script> <output> [<command>]
//
// V8 compiles a function when it is first called. So the command runs here: `ps` and `top` against an agent with one
// pod, `run`, `run-once` and `ui` as far as their help. A script without a command is only read.
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { tmpdir } = require('node:os');
const { basename, join } = require('node:path');
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
  const script = new Script(readFileSync(file, 'latin1'), { filename: basename(file) });
  const exitCode = words === undefined ? 0 : await run(script.runInThisContext());
  writeFileSync(output, script.createCachedData());
  rmSync(rootDir, { recursive: true });
  process.exit(exitCode);
});

async function run(script) {
  const loaded = { exports: {} };
  const loadOnUse = (path) => {
    throw new Error(`${command} loads ${path}, which is for rare cases`);
  };
  script(loaded.exports, require, loaded, loadOnUse);
  return loaded.exports.main([process.execPath, 'kubelet-ts', ...words]);
}
