import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodStatus } from '../../api/types.ts';
import { isPodReady } from '../../api/values/pod-conditions.ts';
import { podRef } from '../../api/values/pod-names.ts';
import { podQOSClass } from '../../api/values/qos.ts';
import { formatTime } from '../../api/values/time.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { Emit } from '../view/event-bus.ts';
import { retryConditions } from '../view/retry-conditions.ts';
import type { Rejection } from '../view/snapshot.ts';
import { setContainerReadiness, setContainerStartup } from './set-container-readiness.ts';

interface Deps {
  emit: Emit;
  redactor: Pick<Redactor, 'status'>;
  /** Called when a pod that this agent worked on starts over. */
  onStartOver?: (uid: string) => void;
}

/** Stores the newest status of every pod. kubelet: status/status_manager.go, without an API server */
export class StatusManager {
  private readonly statuses = new Map<string, PodStatus>();
  /** Phase, reason and message of evicted pods, which override those of their containers. */
  private readonly evicted = new Map<string, Pick<PodStatus, 'phase' | 'reason' | 'message'>>();

  constructor(private readonly deps: Deps) {}

  get(uid: string): PodStatus | undefined {
    return this.statuses.get(uid);
  }

  /** Stores the status. Emits an event if it changed. */
  setPodStatus(pod: Pod, newStatus: PodStatus): void {
    const { uid } = pod.metadata;
    const { emit, redactor } = this.deps;
    const status = redactor.status({ ...newStatus, ...this.evicted.get(uid) });
    if (isDeepStrictEqual(this.statuses.get(uid), status)) return;
    this.statuses.set(uid, status);
    emit({ type: 'PodStatusChanged', pod: podRef(pod), phase: status.phase ?? 'Pending', ready: isPodReady(status) });
  }

  /** Applies a readiness probe result. `containerID` is the id in the status. */
  setContainerReadiness(pod: Pod, containerID: string, ready: boolean): void {
    const status = this.statuses.get(pod.metadata.uid);
    const next = status && setContainerReadiness(pod, status, containerID, ready);
    if (next !== undefined) this.setPodStatus(pod, next);
  }

  /** Applies a startup probe result. */
  setContainerStartup(pod: Pod, containerID: string, started: boolean): void {
    const status = this.statuses.get(pod.metadata.uid);
    const next = status && setContainerStartup(status, containerID, started);
    if (next !== undefined) this.setPodStatus(pod, next);
  }

  /**
   * Sets the status of a pod that was not admitted. Unlike in the kubelet, its message says when admission is retried.
   * kubelet: kubelet.go rejectPod
   */
  reject(pod: Pod, { reason, message, retryOn }: Rejection): void {
    this.startOver(pod.metadata.uid);
    this.setPodStatus(pod, {
      phase: 'Failed',
      reason,
      message: `Pod was rejected: ${message.replace(/[. ]+$/, '')}. The agent tries again as soon as ${retryConditions[retryOn]}.`,
      qosClass: podQOSClass(pod),
    });
  }

  /** Sets the status of a pod that waits before it starts. */
  wait(pod: Pod, { reason, message }: Pick<Rejection, 'reason' | 'message'>): void {
    this.startOver(pod.metadata.uid);
    this.setPodStatus(pod, { phase: 'Pending', reason, message, qosClass: podQOSClass(pod) });
  }

  /** Sets the pod to Failed until its status starts over. kubelet: eviction/eviction_manager.go evictPod */
  evict(pod: Pod, eviction: { reason: string; message: string; disruption?: string; now: number }): void {
    const { reason, message, disruption = message, now } = eviction;
    const { uid } = pod.metadata;
    const { conditions = [], ...status } = this.statuses.get(uid) ?? {};
    this.evicted.set(uid, { phase: 'Failed', reason, message });
    const before = conditions.find(({ type }) => type === 'DisruptionTarget');
    const disrupted = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'TerminationByKubelet',
      message: disruption,
      lastTransitionTime: before?.lastTransitionTime ?? formatTime(now),
    };
    const others = conditions.filter((condition) => condition !== before);
    this.setPodStatus(pod, { ...status, conditions: [...others, disrupted] });
  }

  /** Removes the status of a pod that starts over. */
  remove(uid: string): void {
    this.startOver(uid);
    this.statuses.delete(uid);
  }

  /** Drops all other pods. */
  retain(podUIDs: ReadonlySet<string>): void {
    for (const uid of this.statuses.keys()) if (!podUIDs.has(uid)) this.statuses.delete(uid);
    for (const uid of this.evicted.keys()) if (!podUIDs.has(uid)) this.evicted.delete(uid);
  }

  /** Call it before the pod's status is replaced by one that contains nothing of its last run. */
  private startOver(uid: string): void {
    if (this.statuses.get(uid)?.startTime !== undefined) this.deps.onStartOver?.(uid);
    this.evicted.delete(uid);
  }
}
