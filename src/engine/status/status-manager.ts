import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodStatus } from '../../api/types.ts';
import { podRef } from '../../api/values/pod-names.ts';
import { podQOSClass } from '../../api/values/qos.ts';
import { formatTime } from '../../api/values/time.ts';
import type { OutgoingText } from '../outgoing/outgoing-text.ts';
import type { Emit } from '../view/event-bus.ts';
import type { Rejection } from '../view/snapshot.ts';
import { setContainerReadiness, setContainerStartup } from './set-container-readiness.ts';

/** The newest status of every pod the engine works on. kubelet: status/status_manager.go, without an API server */
export class StatusManager {
  private readonly statuses = new Map<string, PodStatus>();
  /** What is said of evicted pods, whatever their containers say. */
  private readonly evicted = new Map<string, Pick<PodStatus, 'phase' | 'reason' | 'message'>>();
  private readonly emit: Emit;
  private readonly outgoing: Pick<OutgoingText, 'status'>;
  private readonly onStartOver: (uid: string) => void;

  /** `onStartOver`: a pod that was at work in this life starts over. */
  constructor(deps: { emit: Emit; outgoing: Pick<OutgoingText, 'status'>; onStartOver?: (uid: string) => void }) {
    this.emit = deps.emit;
    this.outgoing = deps.outgoing;
    this.onStartOver = deps.onStartOver ?? (() => undefined);
  }

  get(uid: string): PodStatus | undefined {
    return this.statuses.get(uid);
  }

  /** Keeps the status; says so only when something in it changed. */
  setPodStatus(pod: Pod, newStatus: PodStatus): void {
    const uid = pod.metadata.uid;
    const status = this.outgoing.status({ ...newStatus, ...this.evicted.get(uid) });
    if (isDeepStrictEqual(this.statuses.get(uid), status)) return;
    this.statuses.set(uid, status);
    this.emit({ type: 'PodStatusChanged', pod: podRef(pod), phase: status.phase ?? 'Pending', ready: isReady(status) });
  }

  /** A readiness probe spoke; `containerID` as the status has it. */
  setContainerReadiness(pod: Pod, containerID: string, ready: boolean): void {
    const status = this.statuses.get(pod.metadata.uid);
    const next = status && setContainerReadiness(pod, status, containerID, ready);
    if (next !== undefined) this.setPodStatus(pod, next);
  }

  /** A startup probe spoke. */
  setContainerStartup(pod: Pod, containerID: string, started: boolean): void {
    const status = this.statuses.get(pod.metadata.uid);
    const next = status && setContainerStartup(status, containerID, started);
    if (next !== undefined) this.setPodStatus(pod, next);
  }

  /** Says that the pod was not admitted, and beyond the kubelet what will have it asked again. kubelet: kubelet.go rejectPod */
  reject(pod: Pod, { reason, message, retriedWhen }: Rejection): void {
    this.evicted.delete(pod.metadata.uid);
    this.setPodStatus(pod, {
      phase: 'Failed',
      reason,
      message: `Pod was rejected: ${message.replace(/[. ]+$/, '')}. It is tried again as soon as ${retriedWhen}.`,
      qosClass: podQOSClass(pod),
    });
  }

  /** Says what the pod waits for before it may start. */
  wait(pod: Pod, { reason, message }: Pick<Rejection, 'reason' | 'message'>): void {
    this.evicted.delete(pod.metadata.uid);
    this.setPodStatus(pod, { phase: 'Pending', reason, message, qosClass: podQOSClass(pod) });
  }

  /** The pod ends as Failed, until its status starts over. kubelet: eviction/eviction_manager.go evictPod */
  evict(pod: Pod, eviction: { reason: string; message: string; disruption?: string; now: number }): void {
    const { reason, message, disruption = message, now } = eviction;
    const { uid } = pod.metadata;
    const status = this.statuses.get(uid) ?? {};
    this.evicted.set(uid, { phase: 'Failed', reason, message });
    const disrupted = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'TerminationByKubelet',
      message: disruption,
      lastTransitionTime: formatTime(now),
    };
    this.setPodStatus(pod, { ...status, conditions: [...(status.conditions ?? []), disrupted] });
  }

  /** The status of this pod starts over. */
  forget(uid: string): void {
    if (this.statuses.get(uid)?.startTime !== undefined) this.onStartOver(uid);
    this.evicted.delete(uid);
    this.statuses.delete(uid);
  }

  /** Forgets every pod but these. */
  retain(podUIDs: ReadonlySet<string>): void {
    for (const uid of this.statuses.keys()) if (!podUIDs.has(uid)) this.statuses.delete(uid);
    for (const uid of this.evicted.keys()) if (!podUIDs.has(uid)) this.evicted.delete(uid);
  }
}

export function isReady(status: PodStatus | undefined): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}
