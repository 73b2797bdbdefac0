import { isDeepStrictEqual } from 'node:util';
import { podQOSClass } from '../../api/qos.ts';
import type { Pod, PodStatus } from '../../api/types.ts';
import type { Emit } from '../event-bus.ts';
import { podRef } from '../pod-names.ts';

/** The newest status of every pod the engine works on. kubelet: status/status_manager.go, without an API server */
export class StatusManager {
  private readonly statuses = new Map<string, PodStatus>();
  /** Pods that were not admitted. */
  private readonly rejected = new Set<string>();
  private readonly emit: Emit;

  constructor(deps: { emit: Emit }) {
    this.emit = deps.emit;
  }

  get(uid: string): PodStatus | undefined {
    return this.statuses.get(uid);
  }

  /** Keeps the status; says so only when something in it changed. */
  setPodStatus(pod: Pod, status: PodStatus): void {
    const uid = pod.metadata.uid;
    if (isDeepStrictEqual(this.statuses.get(uid), status)) return;
    this.statuses.set(uid, status);
    this.emit({ type: 'PodStatusChanged', pod: podRef(pod), phase: status.phase ?? 'Pending', ready: isReady(status) });
  }

  /** Says that the pod was not admitted; false when that was said before. kubelet: kubelet.go rejectPod */
  reject(pod: Pod, { reason, message }: { reason: string; message: string }): boolean {
    const { uid } = pod.metadata;
    if (this.rejected.has(uid)) return false;
    this.rejected.add(uid);
    const status = { phase: 'Failed', reason, message: `Pod was rejected: ${message}`, qosClass: podQOSClass(pod) };
    this.setPodStatus(pod, status);
    return true;
  }

  /** The status of this pod starts over. */
  forget(uid: string): void {
    this.rejected.delete(uid);
    this.statuses.delete(uid);
  }

  /** Forgets every pod but these. */
  retain(podUIDs: ReadonlySet<string>): void {
    for (const uid of this.statuses.keys()) if (!podUIDs.has(uid)) this.statuses.delete(uid);
    for (const uid of this.rejected) if (!podUIDs.has(uid)) this.rejected.delete(uid);
  }
}

export function isReady(status: PodStatus | undefined): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}
