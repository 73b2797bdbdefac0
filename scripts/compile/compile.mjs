// Writes the code that V8 compiles from a script: compile <script> <output> [<bundle>]
//
// V8 compiles a function when it is first called. So the commands of the bundle run here: `ps` and `top` against an
// agent with one pod, `run-once` with a runtime in memory, `run` and `ui` as far as their help. A script without a
// bundle is only read.
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { systemClock } from '../../src/clock.ts';
import { FakeCriServer } from '../../test/fakes/fake-cri-server.ts';
import { FakeRuntime } from '../../test/fakes/fake-runtime.ts';
import agentAnswers from './agent-answers.json';

const [file, output, bundle] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'kubelet-ts-compile-'));
const rootDir = join(folder, 'root');
const runtimeSocket = join(folder, 'runtime.sock');
const manifest = join(folder, 'pod.yaml');
const image = 'localhost/compile:1';

/** Command lines of each bundle. */
const words = {
  main: [['validate', manifest]],
  // Only root may run pods. Without cgroups, nothing stays on this machine but the folder /var/log/containers.
  agent: [['run', '--help'], process.getuid() === 0 ? runOnceWords() : ['run-once', '--help']],
  ui: [['ui', '--help']],
  ps: [['ps', '--root-dir', rootDir]],
  top: [['top', '--root-dir', rootDir]],
};

function runOnceWords() {
  return [
    ...['run-once', '--rm', '-o', 'json', '--log-format', 'json', '--log-level', 'error', '--root-dir', rootDir],
    ...['--container-runtime-endpoint', `unix://${runtimeSocket}`, '--pod-logs-dir', join(folder, 'logs')],
    ...['--cgroups-per-qos=false', '--enforce-node-allocatable', 'none', manifest],
  ];
}

const podManifest = `apiVersion: v1
kind: Pod
metadata:
  name: compile
spec:
  hostNetwork: true
  restartPolicy: Never
  containers:
    - name: main
      image: ${image}
      imagePullPolicy: IfNotPresent
      command: ['true']
`;

async function serveAgent() {
  mkdirSync(rootDir);
  const agent = createServer(({ url }, response) => {
    response.end(JSON.stringify(agentAnswers[url.split('?')[0]]));
  });
  await once(agent.listen(join(rootDir, 'kubelet-ts.sock')), 'listening');
}

async function serveRuntime() {
  const runtime = new FakeRuntime({ clock: systemClock });
  runtime.addImage(image);
  runtime.script('main', { exitAfterMs: 50 });
  await new FakeCriServer(runtime).start({ socketPath: runtimeSocket });
}

/** Loads the script and runs the commands. Throws if one fails, or needs a part that is loaded on use. */
async function run(script) {
  const loaded = { exports: {} };
  const loadOnUse = (path) => {
    throw new Error(`${bundle} loads ${path}, which is for rare cases`);
  };
  script.runInThisContext()(loaded.exports, createRequire(import.meta.url), loaded, loadOnUse);
  for (const line of words[bundle]) {
    const exitCode = await loaded.exports.main([process.execPath, 'kubelet-ts', ...line]);
    if (exitCode !== 0) throw new Error(`${line[0]} ended with ${exitCode}`);
  }
}

try {
  writeFileSync(manifest, podManifest);
  if (bundle === 'agent') await serveRuntime();
  if (bundle === 'ps' || bundle === 'top') await serveAgent();
  // A collection would forget functions. The cache is rejected if it was written with other flags than Node's own.
  setFlagsFromString('--no-flush-bytecode');
  const script = new Script(readFileSync(file, 'latin1'), { filename: basename(file) });
  if (bundle !== undefined) await run(script);
  setFlagsFromString('--flush-bytecode');
  writeFileSync(output, script.createCachedData());
  process.exitCode = 0;
} catch (error) {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
  // Servers and connections are left open.
  process.exit();
}
