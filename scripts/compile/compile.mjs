// Writes the code that V8 compiles from a script: compile <script> <output> [<bundle>]
//
// V8 compiles a function when it is first called. So the commands of the bundle run here: `ps` and `top` against an
// agent with one pod, `run` and `run-once` with a runtime in memory, `ui` as far as its help. A script without a bundle
// is only read.
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { removeLogLinks } from '../../bench/log-links.ts';
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

/** Flags of `run` and `run-once`. Without cgroups, nothing stays on this machine but the folder /var/log/containers. */
const nodeFlags = [
  ...['--root-dir', rootDir, '--pod-logs-dir', join(folder, 'logs'), '--hostname-override', 'compile'],
  ...['--container-runtime-endpoint', `unix://${runtimeSocket}`],
  ...['--cgroups-per-qos=false', '--enforce-node-allocatable', 'none'],
];
const runOnce = ['run-once', '--rm', '-o', 'json', '--log-format', 'json', ...nodeFlags, manifest];
const run = ['run', '--no-tui', '--healthz-port', '0', ...nodeFlags, manifest];
/** Only root may run pods. */
const runs = process.getuid() === 0 ? [runOnce, run] : [['run-once', '--help']];

/** Command lines of each bundle. */
const words = {
  main: [['validate', manifest]],
  agent: [['run', '--help'], ...runs],
  ui: [['ui', '--help']],
  ps: [['ps', '--root-dir', rootDir]],
  top: [['top', '--root-dir', rootDir]],
};

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

const runtime = new FakeRuntime({ clock: systemClock });

async function serveRuntime() {
  runtime.addImage(image);
  runtime.script('main', { exitAfterMs: 50 });
  await new FakeCriServer(runtime).start({ socketPath: runtimeSocket });
}

/** Milliseconds after the start of its container in which the agent has seen the end of it. */
const settledAfterMs = 500;

/** Ends the agent after its first container, as an operator does. */
async function stopAgent() {
  const isStarted = () => runtime.calls.filter(({ method }) => method === 'startContainer').length > 1;
  while (!isStarted()) await sleep(20);
  await sleep(settledAfterMs);
  process.kill(process.pid, 'SIGTERM');
}

/**
 * require() for the script. A build neither sets the kernel, as the agent does, nor V8: Node rejects code that was
 * written with other flags than its own.
 */
function requireForBuild(name) {
  const loaded = createRequire(import.meta.url)(name);
  if (name === 'node:v8') return { ...loaded, setFlagsFromString: () => undefined };
  if (name !== 'node:fs/promises') return loaded;
  const writeFile = async (path, ...rest) => {
    if (`${path}`.startsWith('/proc/sys/')) throw new Error('EROFS: read-only file system');
    await loaded.writeFile(path, ...rest);
  };
  return { ...loaded, writeFile };
}

/** Loads the script and runs the commands. Throws if one fails, or needs a part that is loaded on use. */
async function runCommands(script) {
  const loaded = { exports: {} };
  const loadOnUse = (path) => {
    throw new Error(`${bundle} loads ${path}, which is for rare cases`);
  };
  script.runInThisContext()(loaded.exports, requireForBuild, loaded, loadOnUse);
  for (const line of words[bundle]) {
    if (line === run) void stopAgent();
    const exitCode = await loaded.exports.main([process.execPath, 'kubelet-ts', ...line]);
    if (exitCode !== 0) throw new Error(`${line[0]} ended with ${exitCode}`);
  }
}

try {
  writeFileSync(manifest, podManifest);
  if (bundle === 'agent') await serveRuntime();
  if (bundle === 'ps' || bundle === 'top') await serveAgent();
  // No agent of this machine starts here.
  delete process.env.NOTIFY_SOCKET;
  // A collection would forget functions. The code is rejected if it was written with other flags than Node's own.
  setFlagsFromString('--no-flush-bytecode');
  const script = new Script(readFileSync(file, 'latin1'), { filename: basename(file) });
  if (bundle !== undefined) await runCommands(script);
  setFlagsFromString('--flush-bytecode');
  writeFileSync(output, script.createCachedData());
  process.exitCode = 0;
} catch (error) {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
  // The agent leaves the container of its pod.
  await removeLogLinks(folder);
  // Servers and connections are left open.
  process.exit();
}
