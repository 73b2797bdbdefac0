import { describe, expect, test } from 'vitest';
import type { ContainerState, PodStatus } from '../../../src/api/types.ts';
import { terminatePodStatus } from '../../../src/engine/status/terminate-pod-status.ts';
import { makeAPIContainerStatus, makeContainer, makePod } from '../../builders/pods.ts';

const running: ContainerState = { running: { startedAt: '2024-06-01T10:00:00Z' } };
const waiting: ContainerState = { waiting: { reason: 'PodInitializing' } };
const terminated = (exitCode: number): ContainerState => ({ terminated: { exitCode } });
const unseen: ContainerState = {
  terminated: {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
  },
};
const statusOf = (name: string, state: ContainerState) => makeAPIContainerStatus({ name, state });
const webIs = (state: ContainerState): PodStatus => ({ containerStatuses: [statusOf('web', state)] });

describe('the last status of a pod', () => {
  test('shows what was not seen ending as killed, and leaves the phase of a static pod', () => {
    expect(terminatePodStatus(makePod(), { phase: 'Running', ...webIs(running) })).toEqual({
      phase: 'Running',
      containerStatuses: [statusOf('web', unseen)],
    });
  });

  test('keeps containers waiting that the pod never came to', () => {
    const initContainers = ['first', 'second', 'third'].map((name) => makeContainer({ name }));
    const pod = makePod({ spec: { initContainers } });
    const status: PodStatus = {
      initContainerStatuses: [
        statusOf('first', terminated(0)),
        statusOf('second', running),
        statusOf('third', waiting),
      ],
      ...webIs(waiting),
    };
    expect(terminatePodStatus(pod, status)).toEqual({
      initContainerStatuses: [statusOf('first', terminated(0)), statusOf('second', unseen), statusOf('third', waiting)],
      ...webIs(waiting),
    });
  });
});
