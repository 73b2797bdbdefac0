import type { Pod } from '../../api/types.ts';
import type { RuntimePod } from '../container/pod-records.ts';
import type { PodWorkerState } from '../view/pod-worker-state.ts';

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

export interface PendingUpdate {
  type: SyncPodType;
  pod: Pod | undefined;
  runningPod: RuntimePod | undefined;
  /** Seconds, once termination was requested. */
  gracePeriodSeconds: number | undefined;
}

/** What the workers keep of one UID. kubelet: pod_workers.go podSyncStatus */
export interface PodSyncStatus {
  uid: string;
  fullName: string;
  isStatic: boolean;
  /** Aborts the sync in flight. */
  abort: AbortController | undefined;
  working: boolean;
  pendingUpdate: PendingUpdate | undefined;
  activeUpdate: PendingUpdate | undefined;
  /** The first sync was allowed to begin. */
  started: boolean;
  startedTerminating: boolean;
  terminating: boolean;
  terminated: boolean;
  finished: boolean;
  deleted: boolean;
  evicted: boolean;
  /** The same UID was declared again while it terminated. */
  restartRequested: boolean;
  observedRuntime: boolean;
  /** Seconds; 0 until termination is requested. */
  gracePeriodSeconds: number;
  onTerminated: (() => void)[];
  /** Monotonic time at the end of the last sync. */
  syncedAt: number;
  lastSyncAt: number | undefined;
  lastSyncMs: number | undefined;
  lastSyncError: string | undefined;
}

export function workerState(status: PodSyncStatus): PodWorkerState {
  if (status.finished) return 'finished';
  if (status.terminated) return 'terminated';
  if (status.terminating) return 'terminating';
  return status.started ? 'sync' : 'waiting';
}
