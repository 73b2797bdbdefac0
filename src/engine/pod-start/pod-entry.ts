import type { Pod } from '../../api/types.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { PendingResize } from '../status/generate-conditions.ts';
import type { WaitingUpdate } from '../view/snapshot.ts';
import type { PodWait } from './compute-pod-start.ts';

/** Everything that the sync loop knows about one declared pod. Deleted as a whole when the pod is removed. */
export interface PodEntry {
  /** The manifest to run. */
  pod: Pod;
  /** Why the pod does not start, and since which monotonic time. */
  wait?: (PodWait & { sinceMonotonic: number }) | undefined;
  /** True if admission must be retried although nothing changed for other pods. */
  isRetried?: boolean;
  /**
   * Set if the pod is no longer declared but runs until its next revision may start. `source` is the source that
   * declared it.
   */
  outgoing?: { source: SourceName } | undefined;
  /** Images of a revision that may not start yet. */
  pull?: { revision: Pod; isReady: boolean; abort: AbortController } | undefined;
  /** The newest revision, which will change the running pod in place and still waits. */
  update?: PendingUpdate | undefined;
  /** Set from an eviction until the pod restarts. `isDue` means that its back-off is over. */
  eviction?: { atMonotonic: number; isDue: boolean } | undefined;
  /** True if an operator started the pod while it was stopping. It restarts with its data. */
  startsAgain?: boolean;
}

export interface PendingUpdate {
  next: Pod;
  /** True if the next revision requests more of a resource. */
  isRaise: boolean;
  /** The next revision with the containers whose image must be pulled first. Undefined if there are none. */
  toPull: Pod | undefined;
  shown: WaitingUpdate;
  /** Set while the node has no room for the resources of the next revision. */
  pending?: PendingResize | undefined;
}

/** Cancels the pulls for a revision that started or whose pod was removed. The next attempt to start it pulls again. */
export function dropPull(entry: PodEntry): void {
  entry.pull?.abort.abort(new Error('the pod no longer needs its images pulled'));
  entry.pull = undefined;
}
