import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../../src/commands/ps.ts';
import { LastGoodManifests } from '../../../src/engine/config/last-good/last-good-manifests.ts';
import { loadManifest } from '../../../src/engine/config/load-manifest.ts';
import type { WorkloadSnapshot } from '../../../src/engine/view/snapshot.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeSnapshot } from '../../tui/make-snapshot.ts';
import { startFakeAgent } from '../fake-agent.ts';
import { makeDeps, makeRuntime } from '../runtime-listings.ts';

const template = {
  metadata: { labels: { app: 'web' } },
  spec: {
    containers: [
      {
        name: 'main',
        image: 'app:1',
        env: [
          { name: 'LEVEL', value: 'info' },
          { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'key', key: 'password' } } },
        ],
      },
    ],
  },
};
const jobTemplate = {
  metadata: { labels: { app: 'dump' } },
  spec: {
    backoffLimit: 2,
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'dump:1' }] } },
  },
};
const manifests = [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', annotations: { note: 'kept' } },
    spec: { replicas: 3, selector: { matchLabels: { app: 'web' } }, template },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'dump' },
    spec: { schedule: '@daily', concurrencyPolicy: 'Forbid', jobTemplate },
  },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' }, stringData: { password: 'hunter2' } },
];

const counts = { desired: 5, current: 2, ready: 2, available: 1, updated: 2 };
const status = { active: 1, ready: 1, succeeded: 0, failed: 0, terminating: 0, isSuspended: false };
const workloads: WorkloadSnapshot[] = [
  { kind: 'Deployment', namespace: 'default', name: 'web', ...counts, conditions: [], pods: [] },
  {
    ...{ kind: 'CronJob', namespace: 'default', name: 'dump', ...counts, conditions: [], pods: [] },
    cronJob: { schedule: '@daily', isSuspended: false, jobs: [{ name: 'dump-1', completions: 1, ...status }] },
  },
];

async function get(...words: string[]): Promise<string> {
  const rootDir = await temporaryFolder();
  await startFakeAgent(rootDir, { '/v1/snapshot': makeSnapshot([], { workloads }) });
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save(
    'file',
    '/m/all.yaml',
    Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests })),
  );
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride();
  register(program, deps);
  await program.parseAsync(['get', '--root-dir', rootDir, ...words], { from: 'user' });
  return deps.printed.stdout;
}

test('get -o json prints a workload as written, with its count and its status', async () => {
  expect(JSON.parse(await get('deploy/web', '-o', 'json'))).toEqual({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default', annotations: { note: 'kept' } },
    spec: { replicas: 5, selector: { matchLabels: { app: 'web' } }, template },
    status: { replicas: 2, readyReplicas: 2, availableReplicas: 1, updatedReplicas: 2, conditions: [] },
  });
  expect(JSON.parse(await get('cronjob/dump', '-o', 'json'))).toEqual({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'dump', namespace: 'default' },
    spec: { schedule: '@daily', suspend: false, concurrencyPolicy: 'Forbid', jobTemplate },
    status: { active: [{ kind: 'Job', namespace: 'default', name: 'dump-1' }] },
  });
  expect(JSON.parse(await get('job/dump-1', '-o', 'json'))).toMatchObject({
    metadata: { name: 'dump-1', namespace: 'default', labels: { app: 'dump' } },
    spec: { completions: 1, suspend: false, ...jobTemplate.spec },
  });
});

test('the age of a workload without pods is that of its manifest', async () => {
  expect((await get('deploy', '--no-headers')).trim().split(/ +/).at(-1)).toMatch(/^\d/);
});

test('get -o yaml of workloads is a manifest without problems, and has no value of a Secret', async () => {
  const yaml = await get('deploy,cronjob', '-o', 'yaml');
  expect(yaml).not.toContain('hunter2');
  const { workloads: loaded = [], problems } = loadManifest(Buffer.from(yaml), '/m/all.yaml', { nodeName: 'edge1' });
  expect({ names: loaded.map(({ name }) => name), problems }).toEqual({ names: ['web', 'dump'], problems: [] });
});
