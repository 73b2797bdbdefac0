import { expect, test } from 'vitest';
import { type ObservedCall, observedService } from '../../src/cri/observed-service.ts';

test('an observed service reports how long each call took and whether it failed', async () => {
  let nowMs = 0;
  const calls: ObservedCall[] = [];
  const service = observedService(
    {
      version: async (request: { version: string }) => {
        nowMs += 5;
        return Promise.resolve(request.version);
      },
      status: () => {
        nowMs += 7;
        return Promise.reject(new Error('gone'));
      },
      events: () => 'a stream',
    },
    (call) => calls.push(call),
    () => nowMs,
  );
  expect(await service.version({ version: 'v1' })).toBe('v1');
  await expect(service.status()).rejects.toThrow('gone');
  expect(service.events()).toBe('a stream');
  expect(calls).toEqual([
    { method: 'version', request: { version: 'v1' }, durationMs: 5, failed: false },
    { method: 'status', request: undefined, durationMs: 7, failed: true },
    { method: 'events', request: undefined, durationMs: 0, failed: false },
  ]);
});
