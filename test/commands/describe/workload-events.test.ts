import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { describeWorkloads } from '../../../src/commands/describe/describe-objects.ts';
import { lastGoodFolder, LastGoodManifests } from '../../../src/engine/config/last-good/last-good-manifests.ts';
import { objectHistory } from '../../../src/engine/history/history-file.ts';
import type { WorkloadSnapshot } from '../../../src/engine/view/snapshot.ts';
import { rootDirWith } from '../../builders/recorded-events.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { makeEntry, makeSnapshot, noon } from '../../tui/make-snapshot.ts';

const counts = { desired: 1, current: 1, ready: 1, available: 1, updated: 1 };
const jobStatus = {
  ...{ completions: 1, active: 1, ready: 1, succeeded: 0, failed: 0, terminating: 0, isSuspended: false },
};
const pi: WorkloadSnapshot = {
  ...{ kind: 'Job', namespace: 'default', name: 'pi', ...counts, conditions: [], pods: ['pi-edge1'] },
  job: jobStatus,
};
const manifest = `
apiVersion: batch/v1
kind: Job
metadata: {name: pi}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "pi:1"}]}}}
`;

const described = async (rootDir: string): Promise<string[]> => {
  const snapshot = makeSnapshot([makeEntry('pi-edge1')], { workloads: [pi] });
  const texts = await describeWorkloads({ workloads: ['Job'], names: ['pi'] }, snapshot, { rootDir }, noon);
  return texts.flatMap((text) => text.split('\n'));
};

test('describe shows the events of a workload and of its pods, but no others', async () => {
  const rootDir = await rootDirWith([
    { of: objectHistory(pi), reason: 'Completed', at: noon - 1000 },
    { of: { namespace: 'default', name: 'pi-edge1' }, reason: 'Started', at: noon - 60_000 },
    { of: { namespace: 'default', name: 'pi-tool-edge1' }, reason: 'Killing', at: noon },
  ]);
  const lines = await described(rootDir);
  expect(lines.slice(lines.indexOf('Events:'))).toEqual([
    'Events:',
    '  Type     Reason      Age   Object     Message',
    '  Normal   Started     60s   pi-edge1   Started!',
    '  Normal   Completed   1s    job/pi     Completed!',
    '',
  ]);
});

test('describe of a run of a CronJob shows its events, and not those of the CronJob or of other runs', async () => {
  const dump: WorkloadSnapshot = {
    ...{ kind: 'CronJob', namespace: 'default', name: 'dump', ...counts, conditions: [], pods: ['dump-2-edge1'] },
    cronJob: { schedule: '@daily', isSuspended: false, jobs: [{ ...jobStatus, name: 'dump-1' }] },
  };
  const [of, runs] = [objectHistory(dump), { namespace: 'default', name: 'dump-1-edge1' }];
  const rootDir = await rootDirWith([
    { of, reason: 'SuccessfulCreate', at: noon - 9000 },
    { of, reason: 'Completed', at: noon - 8000, job: 'dump-1' },
    { of, reason: 'Completed', at: noon - 7000, job: 'dump-2' },
    { of: runs, reason: 'Started', at: noon - 6000 },
    { of: { ...runs, name: 'dump-2-edge1' }, reason: 'Started', at: noon - 5000 },
  ]);
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  const spec = `{schedule: '@daily', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}}`;
  const text = `apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: dump}\nspec: ${spec}`;
  await lastGood.save('file', '/m/dump.yaml', Buffer.from(text));
  const eventsOf = async (kind: 'Job' | 'CronJob', name: string): Promise<string[]> => {
    const snapshot = makeSnapshot([], { workloads: [dump] });
    const [described = ''] = await describeWorkloads({ workloads: [kind], names: [name] }, snapshot, { rootDir }, noon);
    const lines = described.split('\n');
    return lines.slice(lines.indexOf('Events:') + 2, -1).map((line) => line.trim().split(/\s+/).slice(1, 4).join(' '));
  };
  expect(await eventsOf('Job', 'dump-1')).toEqual(['Completed 8s job/dump-1', 'Started 6s dump-1-edge1']);
  expect(await eventsOf('CronJob', 'dump')).toEqual([
    'SuccessfulCreate 9s cronjob/dump',
    'Completed 8s job/dump-1',
    'Completed 7s job/dump-2',
    'Started 6s dump-1-edge1',
    'Started 5s dump-2-edge1',
  ]);
});

test('describe says why it has no pod template', async () => {
  const rootDir = await rootDirWith([]);
  expect(await described(rootDir)).toContain(
    `Pod Template:  <unknown>: no manifest that is saved in ${rootDir} declares it`,
  );
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/pi.yaml', Buffer.from(manifest));
  expect(await described(rootDir)).toContain('Pod Template:');
});

test('describe says so if the manifests cannot be read', async () => {
  const rootDir = await rootDirWith([]);
  await writeFile(lastGoodFolder(rootDir), '');
  expect(await described(rootDir)).toContainEqual(expect.stringMatching(/^Pod Template: {2}<unknown>: ENOTDIR/));
});

test('describe of a workload without an agent shows what its manifest declares', async () => {
  const rootDir = await rootDirWith([]);
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/pi.yaml', Buffer.from(manifest));
  const [text = ''] = await describeWorkloads({ workloads: ['Job'], names: [] }, undefined, { rootDir }, noon);
  expect(text).toContain('Pod Template:');
  expect(text).toContain('Pods:   <unknown>');
});
