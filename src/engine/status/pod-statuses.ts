import type { Pod, PodStatus } from '../../api/types.ts';
import { formatTime } from '../../api/values/time.ts';
import type { Clock } from '../../clock.ts';
import type { WallClockHistory } from '../../flow/wall-clock-history.ts';
import type { NodeDevices } from '../container-manager/device-manager/node-devices.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { EphemeralContainers } from '../ephemeral-containers/ephemeral-containers.ts';
import type { ProberManager } from '../prober/prober-manager.ts';
import { isPastActiveDeadline } from './active-deadline.ts';
import { computeDoneContainers, type DoneContainer, isPodDone, withDoneContainers } from './done-containers.ts';
import type { ResizeState } from './generate-conditions.ts';
import { generatePodStatus, type IPFamily } from './generate-pod-status.ts';
import type { ReasonCache } from './reason-cache.ts';
import type { StatusManager } from './status-manager.ts';
import { plausibleStartTime } from './plausible-start-time.ts';
import type { StatusRecord, StatusRecords } from './status-records.ts';

interface Deps {
  statusManager: StatusManager;
  statusRecords: StatusRecords;
  reasonCache: ReasonCache;
  prober: ProberManager;
  ephemeral: Pick<EphemeralContainers, 'effective'>;
  /** Undefined if statuses do not show the health of devices. */
  devices?: Pick<NodeDevices, 'withHealth'> | undefined;
  clock: Clock;
  wallClock: Pick<WallClockHistory, 'since'>;
  runtimeName: () => string;
  /** Family of the node's primary address. Pod addresses of this family come first. */
  nodeIPFamily: () => IPFamily;
  /** True if the runtime supports recursive read-only mounts. */
  supportsRecursiveReadOnly: () => boolean;
  resizeOf: (uid: string) => ResizeState;
}

/** Generates the statuses of pods and stores them. kubelet: kubelet_pods.go generateAPIPodStatus */
export class PodStatuses {
  constructor(private readonly deps: Deps) {}

  /**
   * Resumes the pod's record from an earlier agent. If there is none, for example because the agent was killed early,
   * uses the creation time of its oldest sandbox as the time when the pod was first seen.
   */
  resume(pod: Pod, { sandboxStatuses }: RuntimePodStatus): void {
    const { statusRecords, clock, prober } = this.deps;
    const { uid } = pod.metadata;
    if (!statusRecords.isFirstSeen(uid)) return;
    const sandboxCreatedAt = sandboxStatuses.map(({ createdAt }) => createdAt).filter((at) => at > 0);
    const { containers } = statusRecords.acknowledge(uid, Math.min(clock.now(), ...sandboxCreatedAt));
    prober.resume(pod, containers);
  }

  /** Adds the done containers of the pod, which the runtime may no longer have, to its runtime status. */
  withDone(podStatus: RuntimePodStatus): RuntimePodStatus {
    return withDoneContainers(podStatus, this.deps.statusRecords.of(podStatus.uid)?.done ?? []);
  }

  /** Containers whose postStart hook started and has not finished: container id by name. */
  unfinishedHooks(uid: string): Readonly<Record<string, string>> {
    return this.deps.statusRecords.of(uid)?.starting ?? {};
  }

  /** True if no container of the pod restarts, according to its record. */
  isDone(pod: Pod): boolean {
    const record = this.deps.statusRecords.of(pod.metadata.uid);
    if (record === undefined || record.runsAnew) return false;
    return isPodDone(pod, record.done) || this.isPastDeadline(pod, record);
  }

  /**
   * Records the done containers of a pod before the runtime loses one of them. Resolves with true once they are on
   * disk, or with false if the pod has not been synced yet. Rejects with the error of the file system.
   */
  async saveDone(pod: Pod, podStatus: RuntimePodStatus): Promise<boolean> {
    const { statusRecords } = this.deps;
    const { uid } = pod.metadata;
    const record = statusRecords.of(uid);
    if (record === undefined || statusRecords.isFirstSeen(uid)) return false;
    await statusRecords.saveDone(uid, this.doneOf(pod, podStatus, record));
    return true;
  }

  /** True if the pod has a status, so that its probes run. */
  has(uid: string): boolean {
    return this.deps.statusManager.get(uid) !== undefined;
  }

  /**
   * Sets the pod's status according to the runtime. `podIsTerminal` means that its containers do not restart,
   * `hasNewSandbox` that its sandbox and network are ready, although `podStatus` does not contain them yet.
   */
  update(pod: Pod, podStatus: RuntimePodStatus, podIsTerminal: boolean, hasNewSandbox = false): PodStatus {
    const { statusManager, reasonCache, prober, clock, wallClock, runtimeName, supportsRecursiveReadOnly } = this.deps;
    const { nodeIPFamily, statusRecords } = this.deps;
    const { uid } = pod.metadata;
    const record = statusRecords.acknowledge(uid, clock.now());
    const { acknowledgedAt, conditions, restarts, starting } = record;
    const oldStatus = statusManager.get(uid);
    const now = clock.now();
    // Not the status' start time for deadlines: it is truncated to seconds, so the deadline would pass too early.
    const since = (): number => wallClock.since(acknowledgedAt);
    const startTime = plausibleStartTime(oldStatus?.startTime ?? formatTime(acknowledgedAt), { now, since });
    const status = generatePodStatus({
      pod: this.deps.ephemeral.effective(pod),
      podStatus: this.withDone(podStatus),
      // A pod that was stopped or evicted before its first sync has a status without a start time.
      oldStatus:
        oldStatus?.startTime === undefined
          ? { ...oldStatus, startTime, conditions: [...(oldStatus?.conditions ?? []), ...conditions] }
          : { ...oldStatus, startTime },
      probes: prober.results,
      // Before the first status no probe workers exist, so those of the spec are assumed.
      ...(oldStatus !== undefined && { probeWorkers: prober.workersOf(uid) }),
      starting: new Set(Object.values(starting)),
      restarts,
      startFailures: reasonCache.of(uid),
      podIsTerminal,
      hasNewSandbox,
      now,
      since,
      runtimeName: runtimeName(),
      nodeIPFamily: nodeIPFamily(),
      supportsRecursiveReadOnly: supportsRecursiveReadOnly(),
      resize: this.deps.resizeOf(uid),
    });
    const withHealth = this.withDeviceHealth(uid, status);
    statusManager.setPodStatus(pod, withHealth);
    statusRecords.save(uid, withHealth, this.doneOf(pod, podStatus, record));
    prober.triggerReadiness(uid, withHealth);
    return withHealth;
  }

  private doneOf(pod: Pod, podStatus: RuntimePodStatus, record: StatusRecord): DoneContainer[] {
    return computeDoneContainers(pod, this.withDone(podStatus), record.done, this.isPastDeadline(pod, record));
  }

  /** Stays true. A stamp has whole milliseconds, so the time since it may seem slightly shorter a moment later. */
  private isPastDeadline(pod: Pod, { acknowledgedAt }: StatusRecord): boolean {
    const { wallClock, statusManager } = this.deps;
    if (statusManager.get(pod.metadata.uid)?.reason === 'DeadlineExceeded') return true;
    return isPastActiveDeadline(pod, formatTime(acknowledgedAt), () => wallClock.since(acknowledgedAt));
  }

  /** Adds the health of the containers' devices to the status. kubelet: kubelet_pods.go convertStatusToAPIStatus */
  private withDeviceHealth(uid: string, status: PodStatus): PodStatus {
    const { devices } = this.deps;
    if (devices === undefined || status.containerStatuses === undefined) return status;
    return { ...status, containerStatuses: status.containerStatuses.map((one) => devices.withHealth(uid, one)) };
  }
}
