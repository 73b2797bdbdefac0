import { expect, test } from 'vitest';
import { nextRestartDelayMs } from '../../src/containerd/containerd-supervisor.ts';

test('restarts at once, then ever later up to half a minute', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 7, 8, 5000].map(nextRestartDelayMs)).toEqual([
    0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000,
  ]);
});
