import type { ContainerStatus } from '../../cri/types.ts';
import type { RuntimeContainerState } from './runtime-pod-status.ts';

/** How a container exited, as the CRI reports it. */
export interface ContainerEndNews {
  exitCode: number;
  /** Milliseconds since the epoch. */
  finishedAt: number;
  reason: string;
}

/**
 * Container exits that an event reported before the runtime's own listing did. Everything else about a container comes
 * from the runtime.
 *
 * INVARIANT: a container that exited never runs again, so a recorded exit stays true for every later answer.
 */
export class ContainerExits {
  /** By container id. `isConfirmed`: the runtime itself reported the exit. */
  private readonly ends = new Map<string, { end: ContainerEndNews; isConfirmed: boolean }>();

  /** Returns the ids of the exited containers that were not dropped yet. */
  ids(): string[] {
    return [...this.ends.keys()];
  }

  record(id: string, end: ContainerEndNews): void {
    this.ends.set(id, { end, isConfirmed: this.ends.get(id)?.isConfirmed ?? false });
  }

  /** True while only an event has reported the exit. */
  isUnconfirmed(id: string): boolean {
    return this.ends.get(id)?.isConfirmed === false;
  }

  /** Drops containers that the runtime no longer has. */
  drop(ids: Iterable<string>): void {
    for (const id of ids) this.ends.delete(id);
  }

  /** Returns the state of a container that the runtime listed as `listed`: `exited` if its exit is recorded. */
  stateOf(id: string, listed: RuntimeContainerState): RuntimeContainerState {
    return listed === 'running' && this.ends.has(id) ? 'exited' : listed;
  }

  /** Returns the runtime's status of a container, with its recorded exit if the status is older than the exit. */
  complete(status: ContainerStatus): ContainerStatus {
    const noted = this.ends.get(status.id);
    if (noted === undefined) return status;
    if (status.state !== 'CONTAINER_RUNNING') {
      noted.isConfirmed = true;
      return status;
    }
    const { exitCode, finishedAt, reason } = noted.end;
    return {
      ...status,
      state: 'CONTAINER_EXITED',
      exitCode,
      finishedAt: BigInt(finishedAt) * 1_000_000n,
      // The runtime sets a reason on a running container that ran out of memory earlier.
      reason: status.reason === '' ? reason : status.reason,
    };
  }
}
