import type { ContainerStatus } from '../../cri/types.ts';
import type { RuntimeContainerState } from './runtime-pod-status.ts';

/** How a container ended, as the CRI reports it. */
export interface ContainerEndNews {
  exitCode: number;
  /** Milliseconds since the epoch. */
  finishedAt: number;
  reason: string;
}

/**
 * Ends of containers that an event reported before the runtime's own listing did. All other facts about a container
 * come from the runtime.
 *
 * INVARIANT: a container that ended never runs again. So a noted end stays true for every later answer.
 */
export class ContainerExits {
  /** By container id. `isConfirmed`: the runtime reported the end itself. */
  private readonly ends = new Map<string, { end: ContainerEndNews; isConfirmed: boolean }>();

  /** Ids of the ended containers that were not forgotten yet. */
  ids(): string[] {
    return [...this.ends.keys()];
  }

  record(id: string, end: ContainerEndNews): void {
    this.ends.set(id, { end, isConfirmed: this.ends.get(id)?.isConfirmed ?? false });
  }

  /** True while only an event reported the end. */
  isUnconfirmed(id: string): boolean {
    return this.ends.get(id)?.isConfirmed === false;
  }

  /** Forgets containers that the runtime no longer has. */
  drop(ids: Iterable<string>): void {
    for (const id of ids) this.ends.delete(id);
  }

  /** State of a container that was listed as `listed`. Returns `exited` if its end is noted. */
  stateOf(id: string, listed: RuntimeContainerState): RuntimeContainerState {
    return listed === 'running' && this.ends.has(id) ? 'exited' : listed;
  }

  /** The runtime's status of a container, with its noted end if the status is older than the end. */
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
      // Set on a running container that ran out of memory earlier.
      reason: status.reason === '' ? reason : status.reason,
    };
  }
}
