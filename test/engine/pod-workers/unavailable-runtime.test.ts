import { expect, test } from 'vitest';
import { SyncPodError } from '../../../src/engine/pod-workers/sync-pod-error.ts';
import { RpcError } from '../../../src/errors.ts';
import { codes } from '../../fakes/fake-calls.ts';
import { delayAfterSync } from './delay-after-sync.ts';

test.each([
  ['was away', codes.unavailable, 1000],
  ['refused', codes.unknown, 10_000],
])('a pod whose runtime %s during its sync has its own retry delay', async (_, code, delay) => {
  const cause = new RpcError('RunPodSandbox', code, 'Connection dropped');
  const syncPod = (): Promise<boolean> => Promise.reject(new SyncPodError('createPodSandbox web', { cause }));
  expect(await delayAfterSync({ syncPod, syncFrequencyMs: 60_000, chance: 0 })).toBe(delay);
});
