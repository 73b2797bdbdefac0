import type { Pod } from '../../api/types.ts';
import type { RuntimePod } from '../container/pod-records.ts';

/** kubelet: types/pod_update.go SyncPodType */
export type SyncPodType = 'create' | 'update' | 'sync' | 'kill';

export interface KillPodOptions {
  /** The pod keeps its containers' remains until the manifest goes. */
  evict?: boolean;
  /** Seconds; replaces the pod's own grace period when it is shorter. */
  gracePeriodSecondsOverride?: number;
  /** Called once the pod has terminated. */
  onTerminated?: () => void;
}

/** What a caller asks of the worker of one pod. Either `pod`, or for a kill of something undeclared `runningPod`. */
export interface UpdatePodOptions {
  type: SyncPodType;
  pod?: Pod;
  runningPod?: RuntimePod;
  killPodOptions?: KillPodOptions;
}

/** What a worker syncs. kubelet: pod_workers.go podWork */
export interface PodWork {
  type: SyncPodType;
  pod: Pod | undefined;
  runningPod: RuntimePod | undefined;
  /** Seconds, once termination was requested. */
  gracePeriodSeconds: number | undefined;
}
