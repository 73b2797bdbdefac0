import type { ContainerStatus } from '../../cri/types.ts';
import type { RuntimeContainerState } from './runtime-pod-status.ts';

/** How a container ended, as the CRI tells it. */
export interface ContainerEndNews {
  exitCode: number;
  /** Milliseconds since the epoch. */
  finishedAt: number;
  reason: string;
}

/**
 * Ends of containers that an event told of, for the moment in which the runtime still calls them running. Whatever else the
 * runtime says of them counts.
 *
 * INVARIANT: a container that ended never runs again, so what is noted here holds for every answer, however late it comes.
 */
export class ContainerEnds {
  /** By container id; `isConfirmed`: the runtime reported the end itself. */
  private readonly ends = new Map<string, { end: ContainerEndNews; isConfirmed: boolean }>();

  /** Ids of the containers that ended, as far as they were not forgotten. */
  ids(): string[] {
    return [...this.ends.keys()];
  }

  note(id: string, end: ContainerEndNews): void {
    this.ends.set(id, { end, isConfirmed: this.ends.get(id)?.isConfirmed ?? false });
  }

  /** True while only an event reported the end. */
  isUnconfirmed(id: string): boolean {
    return this.ends.get(id)?.isConfirmed === false;
  }

  /** The runtime does not have these any more. */
  forget(ids: Iterable<string>): void {
    for (const id of ids) this.ends.delete(id);
  }

  /** What a listing says of a container, unless it ended. */
  stateOf(id: string, listed: RuntimeContainerState): RuntimeContainerState {
    return listed === 'running' && this.ends.has(id) ? 'exited' : listed;
  }

  /** What the runtime says of a container, and if that is older than its end, that too. */
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
      // A running container has one when its memory ran out before.
      reason: status.reason === '' ? reason : status.reason,
    };
  }
}
