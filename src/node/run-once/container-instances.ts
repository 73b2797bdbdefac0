import type { ContainerState, ContainerStatus } from '../../api/types.ts';

/** One instance of a container. */
export interface ContainerInstance {
  /** Undefined if it has not exited. */
  end: ContainerState['terminated'];
  /** Its number, from 0. */
  attempt: number;
}

/** The first instance that a status knows: the one before the last restart, or the only one. */
export function firstInstance(status: ContainerStatus): ContainerInstance {
  const { state, lastState, restartCount } = status;
  if (lastState?.terminated === undefined) return lastInstance(status);
  // A container that waits for its restart counts as the instance that exited.
  const hasNext = state?.running !== undefined || state?.terminated !== undefined;
  return { end: lastState.terminated, attempt: hasNext ? restartCount - 1 : restartCount };
}

/** The instance that runs, or else the newest one. */
export function lastInstance({ state, restartCount }: ContainerStatus): ContainerInstance {
  return { end: state?.terminated, attempt: restartCount };
}
