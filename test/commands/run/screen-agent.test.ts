import { expect, test } from 'vitest';
import { screenAgentEnvironment, claimScreenAgent } from '../../../src/commands/run/screen-agent.ts';

test('the agent of a screen finds its log, and has the variable that gives freed memory back', () => {
  const environment = screenAgentEnvironment('/state/kubelet-ts.log', { HOME: '/root' });
  expect(claimScreenAgent(environment)?.logFile).toBe('/state/kubelet-ts.log');
  expect(environment).toEqual({ HOME: '/root', MALLOC_MMAP_THRESHOLD_: '16384' });
});

test('a value of the user stays', () => {
  expect(screenAgentEnvironment('/log', { MALLOC_MMAP_THRESHOLD_: '4096' })).toMatchObject({
    MALLOC_MMAP_THRESHOLD_: '4096',
  });
});
