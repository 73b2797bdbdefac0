import type { Pod } from '../../api/types.ts';
import { mayBeRunning, type RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { RuntimePod } from '../container/pod-records.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import { isStaticPod } from '../../api/values/config-annotations.ts';
import type { PodSyncStatus } from './pod-sync-status.ts';

/** What a worker knows of a UID that it hears of for the first time. kubelet: pod_workers.go UpdatePod */
export function newPodSyncStatus(
  uid: string,
  pod: Pod | undefined,
  runningPod: RuntimePod | undefined,
  podStatus: RuntimePodStatus,
): PodSyncStatus {
  // A pod that is known to be over and has nothing running only needs its terminated sync.
  const isOver = pod !== undefined && isPodPhaseTerminal(pod) && !mayBeRunning(podStatus);
  return {
    uid,
    fullName: pod === undefined ? `${runningPod?.name ?? ''}_${runningPod?.namespace ?? ''}` : podFullName(pod),
    isStatic: pod !== undefined && isStaticPod(pod),
    abort: undefined,
    working: false,
    pendingUpdate: undefined,
    activeUpdate: undefined,
    started: false,
    startedTerminating: isOver,
    terminating: isOver,
    terminated: isOver,
    finished: false,
    deleted: false,
    evicted: false,
    restartRequested: false,
    observedRuntime: runningPod !== undefined,
    gracePeriodSeconds: isOver ? (pod.spec.terminationGracePeriodSeconds ?? 1) : 0,
    onTerminated: [],
    syncedAt: -Infinity,
    lastSyncAt: undefined,
    lastSyncMs: undefined,
    lastSyncError: undefined,
  };
}

export function isPodPhaseTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
}
