import type { Pod } from '../../api/types.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';

/** kubelet: types/pod_update.go SyncPodType */
export type SyncPodType = 'create' | 'update' | 'sync' | 'kill';

export interface KillPodOptions {
  /** Keeps the containers' remains until the manifest is removed. */
  evict?: boolean;
  /** Seconds. Replaces the pod's grace period if shorter. */
  gracePeriodSecondsOverride?: number;
  /** Called once the pod has terminated. */
  onTerminated?: () => void;
}

/** A request to the worker of one pod. It has `pod`, or to kill an undeclared pod `runningPod`. */
export interface UpdatePodOptions {
  type: SyncPodType;
  pod?: Pod;
  runningPod?: RuntimePod;
  killPodOptions?: KillPodOptions;
}

/** Input of a worker's sync. kubelet: pod_workers.go podWork */
export interface PodWork {
  type: SyncPodType;
  pod: Pod | undefined;
  runningPod: RuntimePod | undefined;
  /** Seconds. Set after a request to terminate. */
  gracePeriodSeconds: number | undefined;
}
