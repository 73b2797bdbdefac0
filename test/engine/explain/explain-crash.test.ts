import { describe, expect, test } from 'vitest';
import type { Container, ContainerStatus } from '../../../src/api/types.ts';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import { reasons } from '../../../src/engine/view/reasons.ts';
import { makeAPIContainerStatus, makeContainer, makePod, NOW } from '../../builders/pods.ts';
import { node, worker } from './explained-node.ts';

const finishedAt = new Date(NOW).toISOString();

const ended = (exitCode: number) => ({ exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt });
type Policy = 'Always' | 'OnFailure' | 'Never';

/** The explanation of a running pod with a container `task` of this status, beside one that is well. */
function explainedBeside(
  restartPolicy: Policy,
  status: Partial<ContainerStatus>,
  kind: 'regular' | 'sidecar',
  own: Partial<Container> = {},
) {
  const isSidecar = kind === 'sidecar';
  const task = makeContainer({ name: 'task', ...(isSidecar && { restartPolicy: 'Always' }), ...own });
  const taskStatus = makeAPIContainerStatus({ name: 'task', ...status });
  const web = makeAPIContainerStatus({ ready: true, started: true });
  const pod = makePod({
    spec: {
      restartPolicy,
      ...(isSidecar && { initContainers: [task] }),
      containers: [...(isSidecar ? [] : [task]), makeContainer()],
    },
    status: {
      phase: 'Running',
      ...(isSidecar && { initContainerStatuses: [taskStatus] }),
      containerStatuses: [...(isSidecar ? [] : [taskStatus]), web],
    },
  });
  return explainPod({ pod, worker, node });
}

const again = 'task: exits with code 0, and restartPolicy Always starts it again';
const failedForGood = 'task failed with exit code 1 (Error), and restartPolicy Never does not start it again';

describe('an ended container next to a running one is a crash if its policy starts it again:', () => {
  test.each<
    [Policy, exitCode: number, restartCount: number, kind: 'regular' | 'sidecar', stage: string, cause: string]
  >([
    ['Always', 1, 0, 'regular', 'back-off', 'task: exits with code 1'],
    ['Always', 0, 1, 'regular', 'back-off', again],
    ['Always', 0, 0, 'regular', 'running', 'it runs and is Ready'],
    ['OnFailure', 1, 0, 'regular', 'back-off', 'task: exits with code 1'],
    ['OnFailure', 0, 1, 'regular', 'running', 'it runs and is Ready'],
    ['Never', 0, 1, 'regular', 'running', 'it runs and is Ready'],
    ['Never', 1, 0, 'regular', 'finished', failedForGood],
    ['Never', 1, 0, 'sidecar', 'back-off', 'task: exits with code 1'],
    ['Never', 0, 1, 'sidecar', 'back-off', 'task: exits, although it is a sidecar'],
    ['OnFailure', 0, 1, 'sidecar', 'back-off', 'task: exits, although it is a sidecar'],
  ])('%s, exit code %i, %i restarts, %s', (policy, exitCode, restartCount, kind, stage, cause) => {
    const status = { restartCount, state: { terminated: ended(exitCode) } };
    expect(explainedBeside(policy, status, kind)).toMatchObject({ stage, cause });
  });
});

describe("a container's own policy and rules decide:", () => {
  const restartPolicyRules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
  test.each<[Policy, own: Partial<Container>, exitCode: number, stage: string, cause: string]>([
    ['Always', { restartPolicy: 'Never' }, 1, 'finished', failedForGood],
    ['Never', { restartPolicy: 'Always' }, 1, 'back-off', 'task: exits with code 1'],
    ['Never', { restartPolicy: 'Always' }, 0, 'back-off', again],
    ['Always', { restartPolicy: 'OnFailure' }, 0, 'running', 'it runs and is Ready'],
    ['Never', { restartPolicy: 'Never', restartPolicyRules }, 42, 'back-off', 'task: exits with code 42'],
    ['Never', { restartPolicy: 'Never', restartPolicyRules }, 1, 'finished', failedForGood],
  ])('pod %s, container %j, exit code %i', (policy, own, exitCode, stage, cause) => {
    const status = { restartCount: 1, state: { terminated: ended(exitCode) } };
    expect(explainedBeside(policy, status, 'regular', own)).toMatchObject({ stage, cause });
  });
});

test('a container that failed for good is shown with its end and its log', () => {
  expect(explainedBeside('Never', { state: { terminated: ended(1) } }, 'regular')).toEqual({
    namespace: 'default',
    name: 'web-node1',
    stage: 'finished',
    container: 'task',
    cause: failedForGood,
    evidence: [{ from: 'container task', at: NOW, text: 'exited with code 1 (Error)' }],
    fixes: [
      'Read its output: kubelet-ts logs web-node1 -c task',
      'Run the pod again: kubelet-ts stop web-node1, then kubelet-ts start web-node1',
    ],
  });
});

test('a young container that ended with success before is not a crash if its policy leaves it ended', () => {
  const status = { restartCount: 3, lastState: { terminated: ended(0) } };
  expect(explainedBeside('OnFailure', status, 'regular').stage).toBe('running');
  expect(explainedBeside('Always', status, 'regular')).toMatchObject({ stage: 'back-off', cause: again });
});

test('a sidecar that was killed at the end is not why its pod failed', () => {
  const task = makeContainer({ name: 'task', restartPolicy: 'Always' });
  const statusOf = (name: string, exitCode: number) =>
    makeAPIContainerStatus({ name, state: { terminated: ended(exitCode) } });
  const pod = makePod({
    spec: { restartPolicy: 'Never', initContainers: [task] },
    status: {
      phase: 'Failed',
      initContainerStatuses: [statusOf('task', 137)],
      containerStatuses: [statusOf('web', 3)],
    },
  });
  expect(explainPod({ pod, worker, node }).cause).toBe(
    'web failed with exit code 3 (Error), and restartPolicy Never does not start it again',
  );
});

test.each([
  'connect: network is unreachable',
  'connect EHOSTUNREACH 192.0.2.7:443',
  'dial tcp 192.0.2.7:443: i/o timeout',
])('packets that do not arrive lead to doctor: %s', (message) => {
  const containerStatuses = [makeAPIContainerStatus({ state: { terminated: { ...ended(1), message } } })];
  const pod = makePod({ spec: { containers: [makeContainer()] }, status: { phase: 'Running', containerStatuses } });
  const { cause, fixes } = explainPod({ pod, worker, node });
  expect([cause, fixes[0]]).toEqual([
    'cannot reach another machine (exit code 1)',
    'Find what blocks the packets: kubelet-ts doctor',
  ]);
});

test('a name that no pod can resolve here leads to the resolver file', () => {
  const message = 'All name servers of /etc/resolv.conf are on loopback';
  const event = {
    kind: 'event',
    podUID: '',
    eventType: 'Warning',
    message,
    count: 1,
    firstAt: NOW,
    lastAt: NOW,
  } as const;
  const terminated = { ...ended(1), message: 'wget: bad address registry.example' };
  const pod = makePod({
    spec: { containers: [makeContainer()] },
    status: { phase: 'Running', containerStatuses: [makeAPIContainerStatus({ state: { terminated } })] },
  });
  const explained = explainPod({ pod, worker, node, history: [{ ...event, reason: reasons.noReachableNameServer }] });
  expect(explained.cause).toBe('cannot resolve a host name (exit code 1)');
  expect(explained.fixes.slice(0, 2)).toEqual([
    `${message}.`,
    'Set dnsConfig.nameservers in the pod, or name another resolver file: kubelet-ts run --resolv-conf FILE',
  ]);
});
