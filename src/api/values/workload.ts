import type { PersistentVolumeClaim } from './persistent-volume.ts';
import type { Pod } from '../types.ts';
import type { DeclaredCronJob, DeclaredJob } from './job.ts';

/** A workload that a manifest declares, defaulted and validated. Its pods follow from `engine/workloads`. */
export type DeclaredWorkload = DeclaredCronJob | DeclaredJob | ReplicatedWorkload;

/** A number, or a percentage of the replicas such as `25%`. */
export type CountOrPercent = number | string;

/** A workload that keeps a number of equal pods running. */
export interface ReplicatedWorkload {
  kind: 'DaemonSet' | 'Deployment' | 'ReplicaSet' | 'ReplicationController' | 'StatefulSet';
  namespace: string;
  name: string;
  replicas: number;
  /** Ordinal of the first pod. */
  firstOrdinal: number;
  minReadySeconds: number;
  progressDeadlineSeconds: number;
  /** True if its pods keep their revision for now. */
  isPaused: boolean;
  update: UpdateStrategy;
  /** The first pod, `replicaPod` returns the others. */
  template: Pod;
  /** The claims of the first pod. Empty if the workload has no volumeClaimTemplates. */
  claims: readonly PersistentVolumeClaim[];
}

export interface UpdateStrategy {
  /**
   * `Recreate`: no pod of the new revision starts until all of the earlier one have stopped. `OnDelete`: each pod
   * changes when an operator restarts it.
   */
  type: 'RollingUpdate' | 'Recreate' | 'OnDelete';
  /** How many pods may run beyond the replicas. Absent if neither this nor `maxUnavailable` is written. */
  maxSurge?: CountOrPercent;
  /** How many pods may be unavailable because of an update. Absent as above. */
  maxUnavailable?: CountOrPercent;
  /** The first pods that keep their revision. */
  partition: number;
  /** Whether an update begins with the last pod. */
  isDescending: boolean;
  /** Whether pods are created and removed one after the other. */
  isOrdered: boolean;
}

/** Each pod takes time and memory of the agent. The default of `--max-pods` is 110. */
export const maxReplicas = 1000;

/** Names a workload. */
export type WorkloadName = Pick<DeclaredWorkload, 'kind' | 'namespace' | 'name'>;

const kinds: readonly string[] = [
  'DaemonSet',
  'Deployment',
  'ReplicaSet',
  'ReplicationController',
  'StatefulSet',
] satisfies ReplicatedWorkload['kind'][];

/** True for a kind of workload that keeps pods running. */
export function isReplicatedKind(kind: string): kind is ReplicatedWorkload['kind'] {
  return kinds.includes(kind);
}

/** True for a kind of workload. */
export function isWorkloadKind(kind: string): kind is DeclaredWorkload['kind'] {
  return isReplicatedKind(kind) || kind === 'Job' || kind === 'CronJob';
}

/** `<kind>/<namespace>/<name>`, unique among workloads. */
export function workloadKey({ kind, namespace, name }: WorkloadName): string {
  return `${kind}/${namespace}/${name}`;
}
