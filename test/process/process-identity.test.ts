import { expect, test } from 'vitest';
import { identify, isOfThisRoot, isRunning } from '../../src/process/process-identity.ts';
import { withoutDescriptors } from '../support/without-descriptors.ts';

test('distinguishes a process from a later one with its PID by the start time', async () => {
  const self = await identify(process.pid);
  expect(self).toEqual({ pid: process.pid, startTicks: expect.stringMatching(/^\d+$/) as string });
  expect(await isRunning({ pid: process.pid, startTicks: self?.startTicks ?? '' })).toBe(true);
  expect(await isRunning({ pid: process.pid, startTicks: '1' })).toBe(false);
});

test('a process of root in this root folder is trusted, one that has ended is not', async () => {
  expect(await isOfThisRoot(process.pid)).toBe(process.geteuid?.() === 0);
  expect(await isOfThisRoot(2 ** 30)).toBe(false);
});

test('without descriptors nothing is known about a process', async () => {
  const failure: unknown = await withoutDescriptors(() => isOfThisRoot(process.pid).catch((e: unknown) => e));
  expect(failure).toMatchObject({ code: 'EMFILE' });
});
