import type { Pod } from '../../api/types.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { WaitingUpdate } from '../view/snapshot.ts';
import type { PodWait } from './compute-pod-start.ts';

/** Everything that the sync loop knows of one declared pod. It goes as a whole when the pod is removed. */
export interface PodEntry {
  /** The manifest to run. */
  pod: Pod;
  /** Why the pod does not start, and since when; monotonic. */
  wait?: (PodWait & { sinceMonotonic: number }) | undefined;
  /** True if it is to be admitted again although nothing changed for others. */
  isRetried?: boolean;
  /** Set if the pod is no longer declared but runs until its next revision may start: the source that declared it. */
  outgoing?: { source: SourceName } | undefined;
  /** Images of a revision that may not start yet. */
  pull?: { revision: Pod; isReady: boolean; abort: AbortController } | undefined;
  /** The newest revision, which changes the running pod in place and still waits. */
  update?: PendingUpdate | undefined;
  /** Set from an eviction until the pod starts again. `isDue`: its back-off is over. */
  eviction?: { atMonotonic: number; isDue: boolean } | undefined;
  /** True if an operator started the pod while it still stopped. It starts again with its data. */
  startsAgain?: boolean;
}

export interface PendingUpdate {
  next: Pod;
  /** True if the next revision requests more of a resource. */
  isRaise: boolean;
  /** The next revision with the containers whose image must be pulled first. Undefined if there are none. */
  toPull: Pod | undefined;
  shown: WaitingUpdate;
}

/** Ends the pulls for a revision that started, or whose pod was removed. The next attempt to start it begins anew. */
export function dropPull(entry: PodEntry): void {
  entry.pull?.abort.abort(new Error('the pod no longer needs its images pulled'));
  entry.pull = undefined;
}
