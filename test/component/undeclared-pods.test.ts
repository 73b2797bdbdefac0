import { expect, test } from 'vitest';
import type { Logger } from '../../src/logger.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { World } from './world.ts';

test('a start with other manifests names the running pods that end, before they do', async () => {
  const world = await World.make();
  const first = new ManualSource();
  const engine = await world.boot({ sources: [first] });
  first.set(makeStaticPod('old'), makeStaticPod('kept'));
  await world.until(() => engine.isReady('old-edge1') && engine.isReady('kept-edge1'));
  await engine.kill();

  const said: { pods: unknown; stopped: number }[] = [];
  const warn = (facts: unknown, message?: string): void => {
    if (message?.startsWith('Running pods end now') !== true) return;
    const { pods } = facts as { pods: unknown };
    said.push({ pods, stopped: world.runtime.requestsOf('stopContainer').length });
  };
  const logger: Logger = { ...silentLogger, warn, child: () => logger };
  const second = new ManualSource();
  await world.boot({ sources: [second], logger });
  second.set(makeStaticPod('kept'));
  await world.until(async () => (await world.inventory()).every((line) => !line.startsWith('old-edge1')));
  expect(said).toEqual([{ pods: ['default/old-edge1'], stopped: 0 }]);
});
