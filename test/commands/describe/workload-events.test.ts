import { mkdir, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { describeWorkloads } from '../../../src/commands/describe/describe-objects.ts';
import { lastGoodFolder, LastGoodManifests } from '../../../src/engine/config/last-good/last-good-manifests.ts';
import { historyFolder, historyPath, workloadHistory } from '../../../src/engine/history/history-file.ts';
import type { WorkloadSnapshot } from '../../../src/engine/view/snapshot.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { makeEntry, makeSnapshot, noon } from '../../tui/make-snapshot.ts';

const counts = { desired: 1, current: 1, ready: 1, available: 1, updated: 1 };
const pi: WorkloadSnapshot = {
  ...{ kind: 'Job', namespace: 'default', name: 'pi', ...counts, conditions: [], pods: ['pi-edge1'] },
  job: { completions: 1, active: 1, ready: 1, succeeded: 0, failed: 0, terminating: 0, isSuspended: false },
};
const manifest = `
apiVersion: batch/v1
kind: Job
metadata: {name: pi}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "pi:1"}]}}}
`;

/** A root-dir with these events, by the pod or workload that has them. */
async function rootDirWith(events: readonly { of: { namespace: string; name: string }; reason: string; at: number }[]) {
  const rootDir = await temporaryFolder();
  await mkdir(historyFolder(rootDir), { recursive: true });
  for (const { of, reason, at } of events) {
    const event = { kind: 'event', podUID: 'uid', eventType: 'Normal', reason, message: `${reason}!` };
    const line = JSON.stringify({ ...event, count: 1, firstAt: at, lastAt: at });
    await writeFile(historyPath(historyFolder(rootDir), of), `${line}\n`);
  }
  return rootDir;
}

const described = async (rootDir: string): Promise<string[]> => {
  const snapshot = makeSnapshot([makeEntry('pi-edge1')], { workloads: [pi] });
  const texts = await describeWorkloads({ workloads: ['Job'], names: ['pi'] }, snapshot, { rootDir }, noon);
  return texts.flatMap((text) => text.split('\n'));
};

test('describe shows the events of a workload and of its pods, but no others', async () => {
  const rootDir = await rootDirWith([
    { of: workloadHistory(pi), reason: 'Completed', at: noon - 1000 },
    { of: { namespace: 'default', name: 'pi-edge1' }, reason: 'Started', at: noon - 60_000 },
    { of: { namespace: 'default', name: 'pi-tool-edge1' }, reason: 'Killing', at: noon },
  ]);
  const lines = await described(rootDir);
  expect(lines.slice(lines.indexOf('Events:'))).toEqual([
    'Events:',
    '  Type     Reason      Age   Object         Message',
    '  Normal   Started     60s   pod/pi-edge1   Started!',
    '  Normal   Completed   1s    job/pi         Completed!',
    '',
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
