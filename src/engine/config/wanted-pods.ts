import type { Pod } from '../../api/types.ts';
import type { PersistentVolumeClaim } from '../../api/values/persistent-volume.ts';
import type { DeclaredWorkload } from '../../api/values/workload.ts';
import type { KeptRevision } from '../operations/compute-revision.ts';

/** A pod that a source declares now, itself or by one of its workloads. */
export interface WantedPod {
  /** The pod of the newest revision. Must be the same object as before if it is unchanged. */
  pod: Pod;
  /** True if a workload owns the pod, so that its UID is derived. Absent otherwise. */
  isOwned?: true;
  /** Why the pod keeps the revision that it runs. Absent if it follows `pod`. */
  keepsRevision?: KeptRevision;
}

/** What a source's list declares now. */
export interface WantedObjects {
  pods: readonly WantedPod[];
  /** Claims that the list itself does not have. */
  claims: readonly PersistentVolumeClaim[];
}

/**
 * Replaces the pods of a source's list that belong to workloads by those that they want now. `pods` are those of its
 * list, `workloads` those that it owns. `otherSourceOf` returns where another source declares a pod of this name.
 * Returns undefined if none does.
 */
export type DecideWorkloads = (
  source: string,
  pods: readonly Pod[],
  workloads: readonly DeclaredWorkload[],
  otherSourceOf: (pod: Pod) => string | undefined,
) => WantedObjects;
