import { hostname } from 'node:os';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { podsOfWorkload } from '../../../src/commands/top/pods-of-workload.ts';
import { register } from '../../../src/commands/top.ts';
import { LastGoodManifests } from '../../../src/engine/config/last-good/last-good-manifests.ts';
import { nodeNameOf } from '../../../src/node/options/node-options.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeSnapshot } from '../../tui/make-snapshot.ts';
import { startFakeAgent } from '../fake-agent.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

const time = '2025-01-01T00:00:00.000Z';
const podOf = (name: string) => ({
  podRef: { name, namespace: 'default', uid: name },
  startTime: time,
  cpu: { time, usageNanoCores: 1_000_000 },
  memory: { time, workingSetBytes: 1024 * 1024 },
  containers: [],
});
const names = ['web-edge1', 'web-1-edge1', 'web-admin-edge1'];
const workload = { kind: 'Deployment', namespace: 'default', conditions: [] } as const;
const counts = { desired: 2, current: 2, ready: 2, available: 2, updated: 2 };
const snapshot = makeSnapshot([], {
  workloads: [
    { ...workload, ...counts, name: 'web', pods: names.slice(0, 2) },
    { ...workload, ...counts, name: 'idle', pods: [] },
  ],
});

/** Runs `top` next to an agent. */
async function top(...words: string[]): Promise<string[]> {
  const rootDir = await temporaryFolder();
  const summary = { node: { nodeName: 'edge1', startTime: time }, pods: names.map(podOf) };
  await startFakeAgent(rootDir, { '/v1/stats': summary, '/v1/snapshot': snapshot });
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command();
  register(program, deps);
  await program.parseAsync(['top', '--root-dir', rootDir, '--no-headers', ...words], { from: 'user' });
  return deps.printed.stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ +/)[1] ?? '');
}

test('top of a workload shows all its pods', async () => {
  expect(await top('deploy/web')).toEqual(names.slice(0, 2));
  expect(await top('deployment', 'web')).toEqual(names.slice(0, 2));
  expect(await top('web')).toEqual(names.slice(0, 1));
});

test.each([
  ['deploy/idle', 'no pod of deploy/idle runs', 'Only running pods have usage. List all: kubelet-ts ps'],
  ['deploy/wbe', 'deployments.apps "wbe" not found', 'Did you mean deployment/web?'],
  ['sts/web', 'statefulsets.apps "web" not found', 'Did you mean deployment/web?'],
])('top %s is refused: %s', async (word, message, hint) => {
  await expect(top(word)).rejects.toMatchObject({ name: 'UserError', message, hint });
});

test('without an agent, the pods of a workload are those that its manifest may have', async () => {
  const rootDir = await temporaryFolder();
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  const spec = 'spec: {containers: [{name: main, image: "app:1"}]}';
  const manifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, ${spec}}}
`;
  await lastGood.save('file', '/m/web.yaml', Buffer.from(manifest));
  const isOwn = await podsOfWorkload('deploy/web', { rootDir }, undefined);

  const node = nodeNameOf(hostname()).toLowerCase();
  const own = ['web', 'web-7', 'web-admin'].map((name) => isOwn?.({ namespace: 'default', name: `${name}-${node}` }));
  expect(own).toEqual([true, true, false]);
  expect(await podsOfWorkload('sts/web', { rootDir }, undefined)).toBeUndefined();
});
