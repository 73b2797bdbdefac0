import { expect, test } from 'vitest';
import { unlessAborted } from '../../src/flow/unless-aborted.ts';

const reason = new Error('enough');

test('comes to what the work comes to', async () => {
  const { signal } = new AbortController();
  expect(await unlessAborted(Promise.resolve(7), signal)).toBe(7);
  await expect(unlessAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
});

test('is over as soon as the signal is aborted', async () => {
  const controller = new AbortController();
  const waiting = unlessAborted(new Promise(() => undefined), controller.signal);
  controller.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

test('is over at once when the signal was aborted before, and nobody has to handle how the work ends', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => {
    unhandled.push(error);
  };
  process.on('unhandledRejection', note);
  await expect(unlessAborted(Promise.reject(new Error('late')), AbortSignal.abort(reason))).rejects.toBe(reason);
  // Node tells of it after the microtasks.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});
