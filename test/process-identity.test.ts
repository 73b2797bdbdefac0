import { expect, test } from 'vitest';
import { identify, isRunning } from '../src/process-identity.ts';

test('a process is told from a later one with its number by its start', async () => {
  const self = await identify(process.pid);
  expect(self).toEqual({ pid: process.pid, startTicks: expect.stringMatching(/^\d+$/) as string });
  expect(await isRunning({ pid: process.pid, startTicks: self?.startTicks ?? '' })).toBe(true);
  expect(await isRunning({ pid: process.pid, startTicks: '1' })).toBe(false);
});
