import { expect, test } from 'vitest';
import { RpcError } from '../../src/errors.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { World } from './world.ts';

test('a runtime whose event stream ends is asked at once, and is not ready if it does not answer', async () => {
  const world = await World.make();
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source], isEvented: true });
  source.set(makeStaticPod('web'));
  await world.until(() => engine.isReady('web-edge1'));
  await world.until(() => engine.kubelet.snapshot().pleg.mode === 'evented');
  const lost = new RpcError('Status', 14, 'connection lost');
  world.runtime.injectError('status', lost, { times: 1 });
  expect(engine.kubelet.snapshot().runtime.error).toBeUndefined();
  world.runtime.endEventStreams(lost);
  await world.pass(1);
  expect(engine.kubelet.snapshot().runtime.error).toBe('it closed the connection');
  await world.pass(500);
  expect(engine.kubelet.snapshot().runtime.error).toBeUndefined();
});
