import type { Container, ContainerStatus, Pod } from '../types.ts';
import { isConditionTrue } from './pod-conditions.ts';
import { isSidecar } from './sidecars.ts';

/** An init container that the later containers of its pod wait for. */
export interface PendingInit {
  container: Container;
  /** Its index in `spec.initContainers`. */
  index: number;
  /** Absent if nothing is known of it yet. */
  status?: ContainerStatus;
}

/**
 * Returns the first init container that has not succeeded, or has not started if it is a sidecar. Returns undefined if
 * there is none.
 */
export function pendingInit({ spec, status = {} }: Pod): PendingInit | undefined {
  if (isConditionTrue(status, 'Initialized')) return undefined;
  for (const [index, container] of (spec.initContainers ?? []).entries()) {
    const own = status.initContainerStatuses?.find(({ name }) => name === container.name);
    const isDone = isSidecar(container) ? own?.started === true : own?.state?.terminated?.exitCode === 0;
    if (!isDone) return { container, index, ...(own && { status: own }) };
  }
  return undefined;
}
