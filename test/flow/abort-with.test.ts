import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { abortWith } from '../../src/flow/abort-with.ts';

const reason = new Error('enough');

test('aborts the controller with the signal, for its reason', () => {
  const [outer, inner] = [new AbortController(), new AbortController()];
  abortWith(inner, outer.signal);
  expect(inner.signal.aborted).toBe(false);
  outer.abort(reason);
  expect(inner.signal.reason).toBe(reason);
});

test('aborts the controller at once with a signal that is aborted', () => {
  const inner = new AbortController();
  abortWith(inner, AbortSignal.abort(reason));
  expect(inner.signal.reason).toBe(reason);
});

test('leaves nothing in the signal after its end', () => {
  const [outer, inner] = [new AbortController(), new AbortController()];
  abortWith(inner, outer.signal)();
  expect(getEventListeners(outer.signal, 'abort')).toEqual([]);
  outer.abort(reason);
  expect(inner.signal.aborted).toBe(false);
});
