import type { Clock } from '../../clock.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { errorMessage } from '../../errors.ts';
import type { Emit } from '../view/event-bus.ts';
import type { RuntimePods } from '../kuberuntime/runtime-pods.ts';
import type { RuntimePod } from '../container/pod-records.ts';
import { reasons } from '../view/reasons.ts';
import type { WallClockHistory } from '../../flow/wall-clock-history.ts';
import { computeContainerGC, type ContainerGCPlan, type ContainerGCPolicy, type GCContainer } from './container-gc.ts';
import type { PodRemover } from '../kuberuntime/pod-remover.ts';

/** kubelet: kubelet.go ContainerGCPeriod */
const periodMs = 60_000;

/**
 * Grace period in seconds of a container in an unknown state, which may run. kubelet: kuberuntime_container.go
 * minimumGracePeriodInSeconds
 */
const stopTimeout = 2n;

interface Deps {
  runtime: RuntimeService;
  runtimePods: RuntimePods;
  podRemover: PodRemover;
  policy: ContainerGCPolicy;
  /** The pods of the runtime by its last listing. */
  listedPods: () => readonly RuntimePod[];
  /** Only these pods are touched. */
  ownPodUIDs: () => Promise<string[]>;
  /** True if the whole pod is being removed. */
  isBeingRemoved: (uid: string) => boolean;
  onPodChanged: (uid: string) => void;
  clock: Clock;
  wallClock: Pick<WallClockHistory, 'monotonicAt'>;
  emit: Emit;
}

/**
 * Removes older sandboxes of pods, and dead containers that were not removed at their end. PodRemains removes whole
 * pods. kubelet: kuberuntime/kuberuntime_gc.go containerGC
 */
export class ContainerCollector {
  private readonly deps: Deps;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** Collects every minute until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, emit } = this.deps;
    const passed = (): Promise<boolean> =>
      clock.sleep(periodMs, { signal }).then(
        () => true,
        () => false,
      );
    while (await passed()) {
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

  private async collect(signal: AbortSignal): Promise<void> {
    const own = new Set(await this.deps.ownPodUIDs());
    const isOurs = ({ uid }: RuntimePod): boolean => own.has(uid) && !this.deps.isBeingRemoved(uid);
    // Plans from the last listing first, which costs no call to the runtime.
    if (isEmpty(this.plan(this.deps.listedPods().filter(isOurs)))) return;
    const pods = (await this.deps.runtimePods.getPods({ signal })).filter(isOurs);
    const { containersToStop, containersToRemove, sandboxesToRemove } = this.plan(pods);
    const errors: string[] = [];
    const attempt = async (act: Promise<void>): Promise<boolean> => {
      try {
        await act;
        return true;
      } catch (error) {
        signal.throwIfAborted();
        errors.push(errorMessage(error));
        return false;
      }
    };
    const toStop = new Set(containersToStop);
    for (const container of containersToRemove) {
      if (toStop.has(container) && !(await attempt(this.stopContainer(container, signal)))) continue;
      await attempt(this.removeContainer(pods, container, signal));
    }
    for (const { id } of sandboxesToRemove) await attempt(this.deps.podRemover.removePodSandbox(id));
    const changed = new Set([...containersToRemove, ...sandboxesToRemove].map(({ podUID }) => podUID));
    for (const uid of changed) this.deps.onPodChanged(uid);
    if (errors.length === 1) throw new Error(`1 removal failed: ${errors.join()}`);
    if (errors.length > 1) throw new Error(`${String(errors.length)} removals failed, the first: ${errors[0] ?? ''}`);
  }

  private plan(pods: readonly RuntimePod[]): ContainerGCPlan {
    const { policy, clock, wallClock } = this.deps;
    const onMonotonicClock = <T extends { createdAt: number }>(made: T): T & { createdAtMonotonic: number } => ({
      ...made,
      createdAtMonotonic: wallClock.monotonicAt(made.createdAt),
    });
    return computeContainerGC({
      policy,
      nowMonotonic: clock.monotonic(),
      allSourcesReady: false,
      evictTerminatedPods: false,
      shouldPodContentBeRemoved: () => false,
      shouldPodRuntimeBeRemoved: () => false,
      containers: pods.flatMap(({ uid: podUID, containers }) =>
        containers.map(({ sandboxID: podSandboxID, ...container }) =>
          onMonotonicClock({ ...container, podUID, podSandboxID }),
        ),
      ),
      sandboxes: pods.flatMap(({ uid: podUID, sandboxes }) =>
        sandboxes.map((sandbox) => onMonotonicClock({ ...sandbox, podUID })),
      ),
      logDirs: [],
      brokenLogLinks: [],
    });
  }

  private async removeContainer(
    pods: readonly RuntimePod[],
    { id, podUID }: GCContainer,
    signal: AbortSignal,
  ): Promise<void> {
    const pod = pods.find(({ uid }) => uid === podUID);
    const status = await this.deps.runtimePods.getContainerStatus(id, { signal });
    if (pod !== undefined && status !== undefined) await this.deps.podRemover.removeContainer(pod, status);
  }

  private async stopContainer({ id }: GCContainer, signal: AbortSignal): Promise<void> {
    await this.deps.runtime.stopContainer({ containerId: id, timeout: stopTimeout }, { signal });
  }
}

function isEmpty({ containersToRemove, sandboxesToRemove }: ContainerGCPlan): boolean {
  return containersToRemove.length === 0 && sandboxesToRemove.length === 0;
}
