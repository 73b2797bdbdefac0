import { expect, test } from 'vitest';
import { recordedPods } from '../../src/commands/objects/recorded-owners.ts';
import { objectHistory } from '../../src/engine/history/history-file.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

const pi = { kind: 'Job', namespace: 'default', name: 'pi' } as const;
const manifest = `
apiVersion: batch/v1
kind: Job
metadata: {name: pi}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "app:1"}]}}}
`;

test('the events of a workload are recorded, and are no pod', async () => {
  const world = await World.make();
  world.runtime.addImage('app:1');
  world.runtime.script('main', { exitAfterMs: 1000, exitCode: 0 });
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setManifest(manifest);
  await world.until(() => engine.messages('Completed').length > 0);
  await world.pass(2000);
  const events = (await engine.kubelet.history(objectHistory(pi))).filter((entry) => entry.kind === 'event');
  expect(events.map(({ reason, message, count }) => ({ reason, message, count }))).toEqual([
    { reason: 'Completed', message: 'Job default/pi: Job completed', count: 1 },
  ]);
  expect(await recordedPods(world.rootDir, undefined)).toEqual([{ namespace: 'default', name: 'pi-edge1' }]);
});

test('the events of a run of a CronJob name its Job', async () => {
  const world = await World.make();
  world.runtime.addImage('app:1');
  world.runtime.script('main', { exitAfterMs: 1000, exitCode: 0 });
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.setManifest(`
apiVersion: batch/v1
kind: CronJob
metadata: {name: dump}
spec:
  schedule: '@hourly'
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "app:1"}]}}}}
`);
  await world.pass(5000);
  await world.leap(3_600_000);
  await world.until(() => engine.messages('Completed').length > 0);
  const [run] = engine.kubelet.snapshot().workloads?.[0]?.cronJob?.jobs ?? [];
  const dump = { kind: 'CronJob', namespace: 'default', name: 'dump' } as const;
  const events = (await engine.kubelet.history(objectHistory(dump))).filter((entry) => entry.kind === 'event');
  expect(events.map(({ reason, job }) => ({ reason, job }))).toEqual([
    { reason: 'SuccessfulCreate', job: undefined },
    { reason: 'Completed', job: run?.name },
  ]);
});
