import { describe, expect, test } from 'vitest';
import type { ContainerState, PodStatus } from '../../../src/api/types.ts';
import { setContainerReadiness, setContainerStartup } from '../../../src/engine/status/set-container-readiness.ts';
import { makeAPIContainerStatus, makePod } from '../../builders/pods.ts';

const running: ContainerState = { running: { startedAt: '2024-06-01T10:00:00Z' } };
const statusOf = (name: string, state: ContainerState) => makeAPIContainerStatus({ name, state });
const webIs = (state: ContainerState): PodStatus => ({ containerStatuses: [statusOf('web', state)] });

describe('a probe that spoke', () => {
  const status: PodStatus = {
    phase: 'Running',
    conditions: [
      { type: 'Ready', status: 'False', reason: 'ContainersNotReady' },
      { type: 'ContainersReady', status: 'False', reason: 'ContainersNotReady' },
      { type: 'PodScheduled', status: 'True' },
    ],
    ...webIs(running),
  };

  test('makes container and pod ready at once', () => {
    expect(setContainerReadiness(makePod(), status, 'containerd://web-0', true)).toEqual({
      phase: 'Running',
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'ContainersReady', status: 'True' },
        { type: 'PodScheduled', status: 'True' },
      ],
      containerStatuses: [{ ...statusOf('web', running), ready: true }],
    });
  });

  test('changes nothing if it says what is known or names another container', () => {
    expect(setContainerReadiness(makePod(), status, 'containerd://web-0', false)).toBeUndefined();
    expect(setContainerReadiness(makePod(), status, 'containerd://other', true)).toBeUndefined();
  });

  test('marks the container started and leaves the conditions to the next sync', () => {
    expect(setContainerStartup(status, 'containerd://web-0', true)).toEqual({
      ...status,
      containerStatuses: [{ ...statusOf('web', running), started: true }],
    });
  });
});
