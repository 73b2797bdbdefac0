import type { Pod } from '../../api/types.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';

/** kubelet: types/pod_update.go SyncPodType */
export type SyncPodType = 'create' | 'update' | 'sync' | 'kill';

export interface KillPodOptions {
  /** Keeps the stopped containers until the manifest is removed. */
  evict?: boolean;
  /** Grace period in seconds that replaces the pod's if it is shorter. */
  gracePeriodSecondsOverride?: number;
  /** Called once the pod has terminated. */
  onTerminated?: () => void;
}

/** A request to the worker of one pod. Set `pod`, or `runningPod` to kill an undeclared pod. */
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
