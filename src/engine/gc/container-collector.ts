import type { Clock } from '../../clock.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { errorMessage } from '../../errors.ts';
import type { Emit } from '../view/event-bus.ts';
import type { RuntimePods } from '../kuberuntime/runtime-pods.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import { reasons } from '../view/reasons.ts';
import type { WallClockHistory } from '../../flow/wall-clock-history.ts';
import { untilTick } from '../../flow/ticks.ts';
import { computeContainerGC, type ContainerGCPlan, type ContainerGCPolicy, type GCContainer } from './container-gc.ts';
import type { DeadLogNames, DeadLogs } from './dead-logs.ts';
import type { PodRemover } from '../kuberuntime/pod-remover.ts';

/** kubelet: kubelet.go ContainerGCPeriod */
const periodMs = 60_000;

/**
 * Grace period in seconds of a container in an unknown state, because it may be running. kubelet:
 * kuberuntime_container.go minimumGracePeriodInSeconds
 */
const stopTimeout = 2n;

interface Deps {
  runtime: RuntimeService;
  runtimePods: RuntimePods;
  podRemover: PodRemover;
  policy: ContainerGCPolicy;
  /** The pods of the runtime in its last listing. */
  listedPods: () => readonly RuntimePod[];
  /** Only these pods are touched. */
  ownPodUIDs: () => Promise<string[]>;
  deadLogs: DeadLogs;
  /** True if every source was read, so that it is known which pods are declared. */
  areSourcesSeen: () => boolean;
  /** True if no container of the pod runs or will start by itself. */
  hasEnded: (uid: string) => boolean;
  /** True while the whole pod is being removed. */
  isBeingRemoved: (uid: string) => boolean;
  onPodChanged: (uid: string) => void;
  /**
   * Records how the container exited, if its pod needs to know. Resolves with false if that is not known yet. Rejects
   * if the record cannot be written.
   */
  keepEnd: (podUID: string, containerID: string) => Promise<boolean>;
  clock: Clock;
  wallClock: Pick<WallClockHistory, 'monotonicAt'>;
  emit: Emit;
}

/**
 * Removes older sandboxes of pods, and dead containers that were not removed when they exited. PodGarbage removes whole
 * pods. kubelet: kuberuntime/kuberuntime_gc.go containerGC
 */
export class ContainerCollector {
  constructor(private readonly deps: Deps) {}

  /** Collects every minute until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, emit } = this.deps;
    for (;;) {
      await clock.sleep(untilTick(clock, periodMs), { signal });
      try {
        await this.collect(signal);
      } catch (error) {
        if (signal.aborted) return;
        emit({
          type: 'Recorded',
          eventType: 'Warning',
          reason: reasons.containerGCFailed,
          message: errorMessage(error),
        });
      }
    }
  }

  /**
   * Also removes the containers of finished pods, for a disk under pressure. kubelet: container/container_gc.go
   * DeleteAllUnusedContainers
   */
  async deleteAllUnusedContainers(signal: AbortSignal): Promise<void> {
    let removed = 0;
    const onRemoved = (): void => {
      removed += 1;
    };
    try {
      await this.collect(signal, { evictTerminatedPods: true, onRemoved });
    } finally {
      // Some may have been removed although removing others failed or took too long.
      if (removed > 0) this.reportRemoved(removed);
    }
  }

  private reportRemoved(amount: number): void {
    const containers = amount === 1 ? '1 dead container' : `${String(amount)} dead containers`;
    const message = `Removed ${containers}: the node runs short of disk space`;
    this.deps.emit({ type: 'Recorded', eventType: 'Normal', reason: reasons.deadContainersRemoved, message });
  }

  private async collect(
    signal: AbortSignal,
    { evictTerminatedPods = false, onRemoved }: { evictTerminatedPods?: boolean; onRemoved?: () => void } = {},
  ): Promise<void> {
    const own = new Set(await this.deps.ownPodUIDs());
    const isOurs = ({ uid }: RuntimePod): boolean => own.has(uid) && !this.deps.isBeingRemoved(uid);
    // Runs before the listing, so that the listing has the containers of links that are only broken for a moment.
    const logs = await this.deps.deadLogs.find(own);
    // Plans from the last listing first, because that needs no call to the runtime.
    if (isEmpty(this.plan(this.deps.listedPods().filter(isOurs), { ...logs, evictTerminatedPods }))) return;
    const pods = (await this.deps.runtimePods.getPods({ signal })).filter(isOurs);
    const plan = this.plan(pods, { ...logs, evictTerminatedPods });
    const { containersToStop, containersToRemove, sandboxesToRemove } = plan;
    const errors: string[] = [];
    const attempt = async <T>(act: Promise<T>): Promise<T | undefined> => {
      try {
        return await act;
      } catch (error) {
        signal.throwIfAborted();
        errors.push(errorMessage(error));
        return undefined;
      }
    };
    const toStop = new Set(containersToStop);
    for (const container of containersToRemove) {
      const isStopped = !toStop.has(container) || (await attempt(this.stopContainer(container, signal))) === true;
      if (isStopped && (await attempt(this.removeContainer(pods, container, signal))) === true) onRemoved?.();
    }
    for (const { id } of sandboxesToRemove) await attempt(this.deps.podRemover.removePodSandbox(id));
    await attempt(this.deps.deadLogs.remove(plan));
    const changed = new Set([...containersToRemove, ...sandboxesToRemove].map(({ podUID }) => podUID));
    for (const uid of changed) this.deps.onPodChanged(uid);
    if (errors.length === 1) throw new Error(`1 removal failed: ${errors.join()}`);
    if (errors.length > 1) throw new Error(`${String(errors.length)} removals failed, the first: ${errors[0] ?? ''}`);
  }

  private plan(pods: readonly RuntimePod[], request: DeadLogNames & { evictTerminatedPods: boolean }): ContainerGCPlan {
    const { policy, clock, wallClock, hasEnded } = this.deps;
    const onMonotonicClock = <T extends { createdAt: number }>(made: T): T & { createdAtMonotonic: number } => ({
      ...made,
      createdAtMonotonic: wallClock.monotonicAt(made.createdAt),
    });
    const present = new Set(pods.map(({ uid }) => uid));
    return computeContainerGC({
      policy,
      nowMonotonic: clock.monotonic(),
      allSourcesReady: this.deps.areSourcesSeen(),
      // PodGarbage removes whole pods, so only the log folders of pods that the runtime no longer has remain.
      shouldPodContentBeRemoved: (uid) => !present.has(uid),
      shouldPodRuntimeBeRemoved: hasEnded,
      containers: pods.flatMap(({ uid: podUID, containers }) =>
        containers.map(({ sandboxID: podSandboxID, ...container }) =>
          onMonotonicClock({ ...container, podUID, podSandboxID }),
        ),
      ),
      sandboxes: pods.flatMap(({ uid: podUID, sandboxes }) =>
        sandboxes.map((sandbox) => onMonotonicClock({ ...sandbox, podUID })),
      ),
      ...request,
    });
  }

  /** Resolves with false if the container stays until the next collection. */
  private async removeContainer(
    pods: readonly RuntimePod[],
    { id, podUID }: GCContainer,
    signal: AbortSignal,
  ): Promise<boolean> {
    const pod = pods.find(({ uid }) => uid === podUID);
    const status = await this.deps.runtimePods.getContainerStatus(id, { signal });
    if (pod === undefined || status === undefined) return true;
    if (!(await this.deps.keepEnd(podUID, id))) return false;
    await this.deps.podRemover.removeContainer(pod, status);
    return true;
  }

  private async stopContainer({ id }: GCContainer, signal: AbortSignal): Promise<true> {
    await this.deps.runtime.stopContainer({ containerId: id, timeout: stopTimeout }, { signal });
    return true;
  }
}

function isEmpty(plan: ContainerGCPlan): boolean {
  const lists: readonly (readonly unknown[])[] = Object.values(plan);
  return lists.every((list) => list.length === 0);
}
