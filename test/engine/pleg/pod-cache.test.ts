import { beforeEach, expect, test } from 'vitest';
import type { RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import { PodCache } from '../../../src/engine/pleg/pod-cache.ts';
import { makePod, makePodStatus } from '../../builders/pods.ts';

const absent: RuntimePodStatus = {
  uid: 'u1',
  name: '',
  namespace: '',
  ips: [],
  containerStatuses: [],
  sandboxStatuses: [],
};
const status = makePodStatus(makePod({ metadata: { uid: 'u1' } }));
const later = { ...status, ips: ['10.0.0.9'] };

let cache: PodCache;
beforeEach(() => {
  cache = new PodCache();
});

/** The answer to whoever wants news of the pod, or that it still waits. */
function asked(newerThan: number, signal = new AbortController().signal): { answer: () => Promise<unknown> } {
  const waiting = cache.getNewerThan('u1', newerThan, signal).catch((error: unknown) => error);
  return { answer: () => Promise.race([waiting, new Promise((resolve) => setImmediate(resolve, 'waits'))]) };
}

test('answers at once from what was read after the given time, and only then', async () => {
  cache.set('u1', status, undefined, 10);
  expect(await asked(9).answer()).toEqual(status);
  expect(await asked(10).answer()).toBe('waits');
  expect(cache.hasNewerThan('u1', 9)).toBe(true);
  expect(cache.hasNewerThan('u1', 10)).toBe(false);
});

test('answers whoever waits with the first status that is new enough', async () => {
  const early = asked(10);
  const late = asked(20);
  cache.set('u1', status, undefined, 10);
  expect(await early.answer()).toBe('waits');
  cache.set('u1', status, undefined, 11);
  expect(await early.answer()).toEqual(status);
  expect(await late.answer()).toBe('waits');
  cache.set('u1', later, undefined, 21);
  expect(await late.answer()).toEqual(later);
});

test('keeps the waiting of one pod apart from another pod', async () => {
  const waiting = asked(10);
  cache.set('u2', { ...status, uid: 'u2' }, undefined, 11);
  expect(await waiting.answer()).toBe('waits');
});

test('answers with the status it has once everything was looked at after the given time', async () => {
  cache.set('u1', status, undefined, 1);
  const known = asked(10);
  const unknown = cache.getNewerThan('u2', 10, new AbortController().signal);
  cache.updateTime(11);
  expect(await known.answer()).toEqual(status);
  expect(await unknown).toEqual({ ...absent, uid: 'u2' });
});

test('answers that the pod is absent when it was removed after the given time', async () => {
  cache.set('u1', status, undefined, 1);
  const early = asked(10);
  const late = asked(20);
  cache.delete('u1', 15);
  expect(await early.answer()).toEqual(absent);
  expect(await late.answer()).toBe('waits');
  expect(cache.get('u1')).toEqual(absent);
});

test('rejects with the error of reading the pod, until it could be read', async () => {
  cache.set('u1', status, new Error('no status'), 11);
  expect(await asked(10).answer()).toEqual(new Error('no status'));
  expect(cache.get('u1')).toEqual(status);
  const waiting = asked(11);
  cache.set('u1', later, undefined, 12);
  expect(await waiting.answer()).toEqual(later);
});

test('does not say that a pod is well because everything else was looked at, when it could not be read', async () => {
  cache.set('u1', status, new Error('no status'), 11);
  cache.updateTime(20);
  expect(await asked(15).answer()).toEqual(new Error('no status'));
});

test('does not take a status from before everything was looked at for the change that was found then', async () => {
  cache.updateTime(20, ['u1', 'u2']);
  const waiting = [asked(15), cache.getNewerThan('u2', 15, new AbortController().signal)] as const;
  cache.set('u1', status, undefined, 12);
  cache.delete('u2', 12);
  expect(await waiting[0].answer()).toBe('waits');
  cache.set('u1', later, undefined, 20);
  cache.delete('u2', 20);
  expect(await waiting[0].answer()).toEqual(later);
  expect(await waiting[1]).toEqual({ ...absent, uid: 'u2' });
});

test('lets go of whoever gives up', async () => {
  const stopping = new AbortController();
  const waiting = asked(10, stopping.signal);
  stopping.abort(new Error('given up'));
  expect(await waiting.answer()).toEqual(new Error('given up'));
  expect(await asked(10, stopping.signal).answer()).toEqual(new Error('given up'));
  cache.set('u1', status, undefined, 11);
  expect(await asked(10).answer()).toEqual(status);
});
