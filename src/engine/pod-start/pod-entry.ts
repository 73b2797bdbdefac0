import type { Pod } from '../../api/types.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
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
}
