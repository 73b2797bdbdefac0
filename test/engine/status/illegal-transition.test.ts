import { describe, expect, test } from 'vitest';
import type { ContainerState, PodStatus } from '../../../src/api/types.ts';
import { illegalTransition } from '../../../src/engine/status/illegal-transition.ts';
import { makeAPIContainerStatus, makeContainer, makePod } from '../../builders/pods.ts';

const running: ContainerState = { running: { startedAt: '2024-06-01T10:00:00Z' } };
const terminated = (exitCode: number): ContainerState => ({ terminated: { exitCode } });
const statusOf = (name: string, state: ContainerState) => makeAPIContainerStatus({ name, state });
const webIs = (state: ContainerState): PodStatus => ({ containerStatuses: [statusOf('web', state)] });

describe('a container that ended', () => {
  test.each([
    { restartPolicy: 'Always', exitCode: 0, offender: undefined },
    { restartPolicy: 'OnFailure', exitCode: 0, offender: 'web' },
    { restartPolicy: 'OnFailure', exitCode: 1, offender: undefined },
    { restartPolicy: 'Never', exitCode: 1, offender: 'web' },
  ])('with $exitCode may come back under $restartPolicy unless named: $offender', (row) => {
    const { spec } = makePod({ spec: { restartPolicy: row.restartPolicy } });
    expect(illegalTransition(webIs(terminated(row.exitCode)), webIs(running), spec)).toBe(row.offender);
  });

  test('may always come back if it is a sidecar', () => {
    const proxy = makeContainer({ name: 'proxy', restartPolicy: 'Always' });
    const { spec } = makePod({ spec: { restartPolicy: 'Never', initContainers: [proxy] } });
    const before = { initContainerStatuses: [statusOf('proxy', terminated(0))] };
    const after = { initContainerStatuses: [statusOf('proxy', running)] };
    expect(illegalTransition(before, after, spec)).toBeUndefined();
  });
});
