import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { removeLogLinks } from '../../bench/log-links.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { program } from './program.ts';

/** Reports at a signal the kinds of collections that began in the first 1.9 s of a process. */
const report = `const { PerformanceObserver } = require('node:perf_hooks');
const kinds = new Set();
const note = (entries) => {
  for (const { detail, startTime } of entries) if (startTime < 1900) kinds.add(detail.kind);
};
const observer = new PerformanceObserver((list) => note(list.getEntries()));
observer.observe({ entryTypes: ['gc'] });
process.once('SIGUSR2', () => {
  note(observer.takeRecords());
  process.stderr.write('collections: ' + JSON.stringify([...kinds]) + '\\n');
});
`;
/** node:perf_hooks NODE_PERFORMANCE_GC_MINOR, for collections of young objects. */
const minor = 1;

/** An agent that starts the container of its pod: the words of its command, such as `nice kubelet-ts run`. */
async function startingAgent([command, ...args]: readonly [string, ...string[]]) {
  const folder = await mkdtemp('/tmp/kts-start-');
  onTestFinished(async () => {
    await rm(folder, { recursive: true, force: true });
    await removeLogLinks(folder);
  });
  const runtime = new FakeRuntime();
  const server = new FakeCriServer(runtime);
  await server.start({ socketPath: join(folder, 'cri.sock') });
  onTestFinished(() => {
    server.stop();
  });
  runtime.addImage('localhost/busybox:1');
  const containers = [{ name: 'app', image: 'localhost/busybox:1' }];
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { hostNetwork: true, containers } };
  await writeFile(join(folder, 'web.json'), JSON.stringify(pod));
  await writeFile(join(folder, 'report.cjs'), report);
  const flags = [
    ...['--root-dir', join(folder, 'root'), '--pod-logs-dir', join(folder, 'logs'), '--hostname-override', 'edge1'],
    ...['--container-runtime-endpoint', `unix://${join(folder, 'cri.sock')}`],
    ...['--cgroups-per-qos=false', '--enforce-node-allocatable', 'none', '--log-level', 'error'],
  ];
  const agent = execa(command, [...args, ...flags, join(folder, 'web.json')], {
    env: { NODE_OPTIONS: `--require=${join(folder, 'report.cjs')}` },
    // A run-once that was stopped has failed.
    reject: false,
  });
  onTestFinished(() => void agent.kill('SIGKILL'));
  await runtime.waitForCall('startContainer');
  return { agent };
}

const run = [program, 'run', '--no-tui', '--healthz-port', '0'] as const;
const runOnce = [program, 'run-once'] as const;

test.each([
  { name: 'run', words: run },
  { name: 'run-once', words: runOnce },
])('V8 collects young objects alone while $name starts a pod', async ({ words }) => {
  const { agent } = await startingAgent(words);
  agent.kill('SIGUSR2');
  const [text] = (await once(agent.stderr, 'data')) as [Buffer];
  agent.kill('SIGTERM');
  await agent;
  // A process that had little of the CPU may not have come to its first.
  expect([`collections: [${minor}]\n`, 'collections: []\n']).toContain(text.toString());
});

test('an agent keeps the nice value with which it was started', async () => {
  const { agent } = await startingAgent(['nice', '-n', '5', ...run]);
  expect(getPriority(agent.pid ?? 0)).toBe(5);
  agent.kill('SIGTERM');
  await agent;
});
