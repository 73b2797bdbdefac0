import { expect, test } from 'vitest';
import { recordedPods } from '../../src/commands/pod/recorded-pods.ts';
import { workloadHistory } from '../../src/engine/history/history-file.ts';
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
  const events = (await engine.kubelet.history(workloadHistory(pi))).filter((entry) => entry.kind === 'event');
  expect(events.map(({ reason, message, count }) => ({ reason, message, count }))).toEqual([
    { reason: 'Completed', message: 'Job default/pi: Job completed', count: 1 },
  ]);
  expect(await recordedPods(world.rootDir, undefined)).toEqual([{ namespace: 'default', name: 'pi-edge1' }]);
});
