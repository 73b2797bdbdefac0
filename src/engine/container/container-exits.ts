import type { ContainerStatus } from '../../cri/types.ts';
import type { RuntimeContainerState } from './runtime-pod-status.ts';

/** How a container exited, as the CRI reports it. */
export interface ContainerExit {
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
  private readonly exits = new Map<string, { end: ContainerExit; isConfirmed: boolean }>();

  /** Returns the ids of the exited containers that were not dropped yet. */
  ids(): string[] {
    return [...this.exits.keys()];
  }

  record(id: string, end: ContainerExit): void {
    this.exits.set(id, { end, isConfirmed: this.exits.get(id)?.isConfirmed ?? false });
  }

  /** True while only an event has reported the exit. */
  isUnconfirmed(id: string): boolean {
    return this.exits.get(id)?.isConfirmed === false;
  }

  /** Drops containers that the runtime no longer has. */
  drop(ids: Iterable<string>): void {
    for (const id of ids) this.exits.delete(id);
  }

  /** Returns the state of a container that the runtime listed as `listed`: `exited` if its exit is recorded. */
  stateOf(id: string, listed: RuntimeContainerState): RuntimeContainerState {
    return listed === 'running' && this.exits.has(id) ? 'exited' : listed;
  }

  /** Returns the runtime's status of a container, with its recorded exit if the status is older than the exit. */
  complete(status: ContainerStatus): ContainerStatus {
    const recorded = this.exits.get(status.id);
    if (recorded === undefined) return status;
    if (status.state !== 'CONTAINER_RUNNING') {
      recorded.isConfirmed = true;
      return status;
    }
    const { exitCode, finishedAt, reason } = recorded.end;
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
