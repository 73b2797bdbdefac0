import { describe, expect, test } from 'vitest';
import type { ContainerState, PodStatus } from '../../../src/api/types.ts';
import { normalizeStatus } from '../../../src/engine/status/generate-pod-status.ts';
import { makeAPIContainerStatus, makeContainer, makePod } from '../../builders/pods.ts';

const statusOf = (name: string, state: ContainerState) => makeAPIContainerStatus({ name, state });
const webIs = (state: ContainerState): PodStatus => ({ containerStatuses: [statusOf('web', state)] });

describe('termination messages', () => {
  test('of all containers share 12 KiB', () => {
    const { spec } = makePod({ spec: { containers: ['a', 'b', 'c'].map((name) => makeContainer({ name })) } });
    const long = webIs({ terminated: { exitCode: 1, message: 'x'.repeat(5000) } });
    const { containerStatuses } = normalizeStatus(spec, long);
    expect(containerStatuses?.[0]?.state?.terminated?.message).toBe('x'.repeat(4096));
  });

  test('are never cut within a character', () => {
    const { spec } = makePod();
    const long = webIs({ terminated: { exitCode: 1, message: `x${'é'.repeat(12 * 1024)}` } });
    const { containerStatuses } = normalizeStatus(spec, long);
    expect(containerStatuses?.[0]?.state?.terminated?.message).toBe(`x${'é'.repeat(6 * 1024 - 1)}`);
  });
});
