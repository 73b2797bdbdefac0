import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod, PodStatus } from '../../src/api/types.ts';
import { podOutcome, stuckPods } from '../../src/commands/run-once-outcome.ts';
import { podAfter } from '../builders/pod-after.ts';
import { makeAPIContainerStatus, makePod } from '../builders/pods.ts';

type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

const ended = (exitCode: number, reason = exitCode === 0 ? 'Completed' : 'Error') => ({
  terminated: { exitCode, reason },
});
const main = (overrides: Partial<ContainerStatus>): ContainerStatus =>
  makeAPIContainerStatus({ name: 'main', ...overrides });
const waiting = (reason: string, message?: string): ContainerStatus =>
  main({ state: { waiting: { reason, ...(message !== undefined && { message }) } } });
const ready: PodStatus['conditions'] = [{ type: 'Ready', status: 'True' }];

const completed = { outcome: 'completed', exitCode: 0, message: '' };
const failedWith = (exitCode: number, more = '', container = 'main') => ({
  outcome: 'failed',
  exitCode,
  message: `container ${container} exited with code ${exitCode}${more}`,
  container,
});

test.each<[string, RestartPolicy, PodStatus, ReturnType<typeof podOutcome> | object]>([
  ['has no status yet', 'Always', {}, undefined],
  ['succeeded', 'Never', { phase: 'Succeeded', containerStatuses: [main({ state: ended(0) })] }, completed],
  ['failed', 'Never', { phase: 'Failed', containerStatuses: [main({ state: ended(7) })] }, failedWith(7)],
  [
    'was killed for its memory',
    'Never',
    { phase: 'Failed', containerStatuses: [main({ state: ended(137, 'OOMKilled') })] },
    failedWith(137, ' (OOMKilled)'),
  ],
  [
    'failed in its second container',
    'Never',
    {
      phase: 'Failed',
      containerStatuses: [main({ state: ended(0) }), makeAPIContainerStatus({ name: 'other', state: ended(3) })],
    },
    failedWith(3, '', 'other'),
  ],
  [
    'failed in an init container',
    'Never',
    {
      phase: 'Failed',
      initContainerStatuses: [makeAPIContainerStatus({ name: 'setup', state: ended(5) })],
      containerStatuses: [waiting('PodInitializing')],
    },
    failedWith(5, '', 'setup'),
  ],
  [
    'was not admitted',
    'Never',
    { phase: 'Failed', reason: 'OutOfpods', message: 'Pod was rejected: too many' },
    { outcome: 'failed', exitCode: 1, message: 'Pod was rejected: too many' },
  ],
  [
    'is tried again after a failure',
    'OnFailure',
    { phase: 'Running', containerStatuses: [main({ lastState: ended(1) })] },
    undefined,
  ],
  [
    'runs and is Ready, and will end',
    'OnFailure',
    { phase: 'Running', conditions: ready, containerStatuses: [main({})] },
    undefined,
  ],
  [
    'runs and is Ready, for ever',
    'Always',
    { phase: 'Running', conditions: ready, containerStatuses: [main({})] },
    { outcome: 'ready', exitCode: 0, message: '' },
  ],
  ['runs and is not Ready', 'Always', { phase: 'Running', containerStatuses: [main({})] }, undefined],
  [
    'runs for ever and ended once with 0',
    'Always',
    { phase: 'Running', containerStatuses: [main({ state: { running: {} }, lastState: ended(0) })] },
    completed,
  ],
  [
    'runs for ever, and one of two ended with 0',
    'Always',
    { phase: 'Running', containerStatuses: [main({ lastState: ended(0) }), makeAPIContainerStatus({ name: 'other' })] },
    undefined,
  ],
  [
    'runs for ever and failed once',
    'Always',
    { phase: 'Running', conditions: ready, containerStatuses: [main({ lastState: ended(2) })] },
    failedWith(2),
  ],
  [
    'has an image that is not there and is not pulled',
    'Always',
    { phase: 'Pending', containerStatuses: [waiting('ErrImageNeverPull', 'not present')] },
    { outcome: 'not started', exitCode: 125, message: 'ErrImageNeverPull: not present', container: 'main' },
  ],
  [
    'has an image of no valid name',
    'Never',
    { phase: 'Pending', containerStatuses: [waiting('InvalidImageName')] },
    { outcome: 'not started', exitCode: 125, message: 'InvalidImageName', container: 'main' },
  ],
  [
    'has a configuration that cannot be made, in an init container',
    'Never',
    { phase: 'Pending', initContainerStatuses: [waiting('CreateContainerConfigError', 'no such key')] },
    { outcome: 'not started', exitCode: 125, message: 'CreateContainerConfigError: no such key', container: 'main' },
  ],
  [
    'backs off from a pull, which may still come',
    'Always',
    { phase: 'Pending', containerStatuses: [waiting('ImagePullBackOff')] },
    undefined,
  ],
])('of a pod that %s (%s)', (_what, restartPolicy, status, outcome) => {
  expect(podOutcome(makePod({ spec: { restartPolicy }, status }))).toEqual(outcome);
});

describe('pods that wait for others', () => {
  const waitingPod = (name: string, dependsOn: string): Pod => ({
    ...podAfter(name, dependsOn),
    status: { phase: 'Pending', reason: 'WaitingForPods', message: `Waiting for ${dependsOn} to be Ready` },
  });
  const job = (status: PodStatus): Pod => ({ ...podAfter('job', ''), status });
  const after = waitingPod('after', 'job');
  const last = waitingPod('last', 'after');

  test('are stuck when all that is left waits for what failed', () => {
    expect(stuckPods([after, last], [job({ phase: 'Failed' }), after, last])).toEqual([after, last]);
  });

  test.each([
    ['there is another one to decide', [job({ phase: 'Running' }), after], { phase: 'Running' }],
    ['what they wait for completed this moment', [after], { phase: 'Succeeded' }],
    [
      'they run, though the others are not Ready any more',
      [{ ...after, status: { phase: 'Running' } }],
      { phase: 'Failed' },
    ],
  ])('are not when %s', (_what, undecided, status) => {
    const known = [job(status), ...undecided.filter(({ metadata }) => metadata.name !== 'job-edge1')];
    expect(stuckPods(undecided, known)).toEqual([]);
  });
});
