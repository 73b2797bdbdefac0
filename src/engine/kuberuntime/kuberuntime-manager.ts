import type { Container, Pod } from '../../api/types.ts';
import { errorMessage } from '../../errors.ts';
import type { BackOff } from '../../flow/back-off.ts';
import { ContainerStartError } from '../container/container-start-error.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import type { PodCgroupResize } from '../container-manager/container-manager.ts';
import type { PodRemover } from './pod-remover.ts';
import type { AskedImages } from '../images/image-manager.ts';
import type { ProbeResults } from '../container/probe-results.ts';
import { formatPod } from '../../api/values/pod-names.ts';
import { noMemoryQoS } from './request/linux-resources.ts';
import { reasons } from '../view/reasons.ts';
import { sandboxFaults } from '../view/sandbox-faults.ts';
import type { MountedVolume } from '../volumes/volume-mounter.ts';
import { createCall } from './create-call.ts';
import { computePodActions } from './actions/compute-pod-actions.ts';
import { computeRestartActions, type KeptContainer, keptContainers } from './actions/add-restarts.ts';
import { computeResizeActions } from './actions/compute-resize-actions.ts';
import { crashLoopWait, type FinishedRun, finishedRun } from './actions/crash-loop-back-off.ts';
import type { ImagesOfSync } from './image-volumes.ts';
import { killContainer } from './kill-container.ts';
import { killPod, type PodKill } from './kill-pod.ts';
import type { ContainerToReset } from './actions/pod-actions.ts';
import { type PodSandbox, podSandbox, type PodSandboxDeps } from './pod-sandbox.ts';
import { SandboxBackOff } from './sandbox-back-off.ts';
import { pruneInitContainers, purgeInitContainers } from './remove-init-containers.ts';
import { type PodResize, resizePod, type SyncedResize } from './resize-pod.ts';
import { findContainerStatus, type RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { ContainerType, Meter } from '../view/meter.ts';
import { postStart, type StartContainerDeps, startContainer, startFailure } from './start-container.ts';
import type { SyncResult } from '../container/sync-result.ts';
import type { WallClockHistory } from '../../flow/wall-clock-history.ts';

interface Deps extends StartContainerDeps, PodSandboxDeps {
  meter?: Pick<Meter, 'containerStarting' | 'containerNotStarted' | 'count' | 'observe'> | undefined;
  backOff: BackOff;
  wallClock: Pick<WallClockHistory, 'monotonicAt'>;
  podRemover: PodRemover;
  podCgroups: PodCgroupResize;
}

export interface PodSync {
  pod: Pod;
  podStatus: RuntimePodStatus;
  probes: ProbeResults;
  volumes: ReadonlyMap<string, MountedVolume>;
  recorder: PodEventRecorder;
  signal: AbortSignal;
  /** Called once a new sandbox has its network, before images are pulled. */
  onSandboxReady?: () => void;
  /** A resize of the pod in place. Undefined if its resources match its revision. */
  resize?: SyncedResize | undefined;
  /** Ids of containers that an operator wants to restart. */
  restarting?: readonly string[];
  /** Names of ephemeral containers to stop and remove. */
  removedContainers?: readonly string[];
  /** Containers whose postStart hook an earlier agent did not finish: container id by name. */
  unfinishedHooks?: Readonly<Record<string, string>>;
  /** Runs that finished before this monotonic time cause no back-off. */
  retriedAtMonotonic?: number | undefined;
}

/** The sandbox of containers that start now. */
interface ReadySandbox extends PodSandbox {
  askedImages: AskedImages | undefined;
  imagesOfSync: ImagesOfSync;
}

/** Executes the actions of `computePodActions` over the CRI. kubelet: kuberuntime/kuberuntime_manager.go */
export class KuberuntimeManager {
  /** Ids of containers that the runtime cannot resize and that must restart instead. */
  private readonly notResizable = new Set<string>();
  private readonly sandboxBackOff: SandboxBackOff;

  constructor(private readonly deps: Deps) {
    this.sandboxBackOff = new SandboxBackOff(deps);
  }

  /**
   * Syncs a pod once, in the kubelet's order. Resolves with results that include failures. Rejects only if aborted.
   * kubelet: kuberuntime_manager.go SyncPod
   */
  async syncPod(sync: PodSync): Promise<SyncResult[]> {
    const { pod, podStatus, recorder } = sync;
    const results: SyncResult[] = [];

    // Step 1: compute the actions.
    const { actions, ...toResize } = computeResizeActions(
      pod,
      podStatus,
      computeRestartActions(pod, podStatus, computePodActions(pod, podStatus, sync.probes), sync.restarting ?? []),
      sync.resize?.outdated ?? {},
      this.notResizable,
    );
    this.deps.logger.debug({ pod: formatPod(pod), actions }, 'Computed pod actions');
    if (actions.createSandbox) {
      const paused = this.sandboxPause(sync);
      if (paused !== undefined) return [paused];
    }
    if (actions.createSandbox && actions.sandboxID !== '') {
      recorder.normal(reasons.sandboxChanged, 'Pod sandbox changed, it will be killed and re-created.');
    }

    // Step 2: kill the whole pod, or
    if (actions.killPod) {
      if (!(await this.recordResult(results, 'killPod', pod.metadata.name, () => this.killPod(withoutStopped(sync)))))
        return results;
      if (actions.createSandbox) await purgeInitContainers(this.deps, pod, podStatus);
    } else {
      // Step 3: kill single containers.
      for (const kill of actions.containersToKill) {
        const killed = await this.recordResult(results, 'killContainer', kill.name, () =>
          killContainer(this.deps, pod, { ...kill, podIPs: podStatus.ips }, recorder),
        );
        if (!killed) return results;
        this.notResizable.delete(kill.containerID);
      }
      if (actions.containersToReset.length > 0) {
        await this.resetContainers(sync, actions.containersToReset, results);
        return results;
      }
      // Step 4: resize the other containers. A failure does not hold up the start of containers.
      if (sync.resize !== undefined) {
        results.push(...(await this.resize(sync, sync.resize, { sandboxID: actions.sandboxID, ...toResize })));
      }
    }

    // Step 5: finish the postStart hooks of running containers. Later containers wait for the hooks of sidecars.
    for (const kept of keptContainers(pod, podStatus, actions)) {
      if (sync.unfinishedHooks?.[kept.container.name] !== kept.containerID) continue;
      const finished = await this.repeatPostStart(sync, kept, results);
      if (!finished && kept.isInit) return results;
    }

    // Step 6: remove all but the newest finished instance of each init container, and ephemeral containers.
    await pruneInitContainers(this.deps, pod, podStatus);
    await this.removeEphemeralContainers(sync, results);

    // Step 7: the sandbox. The kubelet makes its configuration even if no container is started.
    const init = at(pod.spec.initContainers ?? [], actions.initContainersToStart);
    const containers = at(pod.spec.containers, actions.containersToStart);
    const ephemeral = at(pod.spec.ephemeralContainers ?? [], actions.ephemeralContainersToStart);
    const [first] = [...ephemeral, ...init, ...containers];
    if (!actions.createSandbox && first === undefined) return results;
    const askedImages = first && this.deps.imageManager.requestStatus(first, sync.signal);
    const present = await podSandbox(this.deps, sync, actions, results);
    if (present === undefined) return results;
    if (actions.createSandbox) sync.onSandboxReady?.();
    const sandbox = { ...present, askedImages, imagesOfSync: new Map() };

    // Step 8: start ephemeral containers, which have no back-off. A failed one does not block the others.
    for (const container of ephemeral) await this.startEphemeral(sync, container, sandbox, results);

    // Step 9: start init containers, one at a time unless there are sidecars. A failed sidecar does not block the
    // others.
    for (const container of init) {
      const started = await this.start(sync, container, sandbox, results);
      if (!started && container.restartPolicy !== 'Always') return results;
    }

    // Step 10: start the containers. A failed one does not block the others.
    for (const container of containers) {
      await this.start(sync, container, sandbox, results);
    }
    return results;
  }

  /** Stops every container and sandbox of the pod. */
  killPod(kill: PodKill): Promise<void> {
    return killPod(this.deps, kill);
  }

  /**
   * Clears what MemoryQoS set on a running pod before its gate was turned off. A pod that cannot be changed keeps it.
   */
  async clearMemoryQoS(pod: Pod, { containerStatuses }: RuntimePodStatus, signal: AbortSignal): Promise<void> {
    const { podCgroups, runtime, clock, logger } = this.deps;
    try {
      const cgroups = await podCgroups.clearMemoryQoS(pod);
      const throttled = containerStatuses.filter(({ id }) => cgroups.some((path) => path.includes(id)));
      for (const { id: containerId } of throttled) {
        const request = { containerId, linux: { unified: noMemoryQoS } };
        await createCall(clock, signal, (options) => runtime.updateContainerResources(request, options));
      }
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ pod: formatPod(pod), err: errorMessage(error) }, 'Clearing the memory settings of a pod failed');
    }
  }

  /** Ends and removes all containers of a pod, one after the other, without their preStop hooks. */
  private async resetContainers(
    { pod, podStatus, recorder }: PodSync,
    containers: readonly ContainerToReset[],
    results: SyncResult[],
  ): Promise<void> {
    for (const { containerID, name, restartCount, kill } of containers) {
      const message = `Container ${name} restarts with all containers of the pod`;
      const reset = async (): Promise<void> => {
        const stop = { containerID, name, message, gracePeriodOverride: 0, podIPs: podStatus.ips };
        if (kill) await killContainer(this.deps, pod, stop, recorder);
        await this.deps.podRemover.resetContainer(pod.metadata, { id: containerID, name, restartCount });
      };
      if (!(await this.recordResult(results, 'resetContainer', name, reset))) return;
    }
  }

  /** The failure of a new sandbox that must be replaced, until the pause before the next one is over. */
  private sandboxPause({ pod, podStatus, recorder }: PodSync): SyncResult | undefined {
    const pause = this.sandboxBackOff.pause(pod, podStatus);
    if (pause === undefined) return undefined;
    const message = sandboxFaults[pause.fault];
    const retryAtMonotonic = pause.untilMonotonic;
    recorder.warning(reasons.failedCreatePodSandBox, `Failed to create pod sandbox: ${message}`);
    const reason = reasons.createPodSandboxError;
    const error = new ContainerStartError(reason, message, { retryAtMonotonic });
    return { action: 'createPodSandbox', target: formatPod(pod), error, reason, message };
  }

  private async resize(
    { pod, recorder, signal }: PodSync,
    resize: SyncedResize,
    planned: Pick<PodResize, 'sandboxID' | 'containersToResize' | 'containersToRestart'>,
  ): Promise<SyncResult[]> {
    const onRefused = (containerID: string): void => {
      this.notResizable.add(containerID);
    };
    const { clock, meter } = this.deps;
    const startedAtMonotonic = clock.monotonic();
    const results = await resizePod(this.deps, { ...resize, ...planned, pod, recorder, signal, onRefused });
    const success = String(results.every(({ error }) => error === undefined));
    meter?.observe('kubelet_pod_resize_duration_milliseconds', clock.monotonic() - startedAtMonotonic, { success });
    return results;
  }

  /** Resolves with true if the container started. */
  private async start(
    sync: PodSync,
    container: Container,
    sandbox: ReadySandbox,
    results: SyncResult[],
  ): Promise<boolean> {
    const { pod, podStatus, recorder } = sync;
    const target = container.name;
    const { backOff, wallClock } = this.deps;
    const run = finishedRun(wallClock, pod, container, podStatus);
    if (run === undefined) return this.startNow(sync, container, sandbox, results);
    // Reset the back-off if the operator requested the start.
    if (skipsBackOff(sync, container, run)) backOff.reset(run.key);
    else {
      // After a restart of kubelet-ts, earlier restarts still count. The kubelet starts from zero.
      backOff.resume(run.key, run.earlier.restarts, run.earlier.atMonotonic, run.maxMs);
      const waiting = crashLoopWait(backOff, run, pod, container);
      if (waiting !== undefined) {
        const message = `Back-off restarting failed container ${target} in pod ${formatPod(pod)}`;
        recorder.warning(reasons.backOff, message, target);
        const retryAtMonotonic = waiting.untilMonotonic;
        const error = new ContainerStartError(reasons.crashLoopBackOff, waiting.message, { retryAtMonotonic });
        results.push(startFailure(target, error));
        return false;
      }
    }
    backOff.next(run.key, run.endedAtMonotonic, run.maxMs);
    return this.startNow(sync, container, sandbox, results);
  }

  /** Repeats a postStart hook that did not finish. Resolves with true if it succeeded. */
  private async repeatPostStart(
    sync: PodSync,
    { container, containerID }: KeptContainer,
    results: SyncResult[],
  ): Promise<boolean> {
    const { podStatus, recorder, signal } = sync;
    const target = container.name;
    const message = `PostStart hook of container ${target} did not finish; running it again`;
    recorder.normal(reasons.repeatedPostStartHook, message, target);
    try {
      await postStart(this.deps, { ...sync, container, podIPs: podStatus.ips }, containerID);
      results.push({ action: 'startContainer', target });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      results.push(startFailure(target, error));
      return false;
    }
  }

  /** First removes instances that were never started, because a call of an earlier agent may still start them. */
  private async startEphemeral(
    sync: PodSync,
    container: Container,
    sandbox: ReadySandbox,
    results: SyncResult[],
  ): Promise<void> {
    const { metadata } = sync.pod;
    const { name } = container;
    const leftovers = sync.podStatus.containerStatuses.filter((status) => status.name === name);
    for (const status of leftovers) {
      const remove = (): Promise<void> => this.deps.podRemover.removeContainer(metadata, status);
      if (!(await this.recordResult(results, 'killContainer', name, remove))) return;
    }
    await this.startNow(sync, container, sandbox, results);
  }

  /** Starts the container regardless of any back-off. Resolves with true if it started. */
  private async startNow(
    sync: PodSync,
    container: Container,
    sandbox: ReadySandbox,
    results: SyncResult[],
  ): Promise<boolean> {
    const { pod } = sync;
    const target = container.name;
    const type = typeOf(pod, container);
    this.deps.meter?.containerStarting(type);
    try {
      await startContainer(this.deps, {
        ...sync,
        container,
        podIPs: sandbox.podIPs,
        podSandboxID: sandbox.id,
        sandboxConfig: sandbox.config,
        askedImages: sandbox.askedImages,
        imagesOfSync: sandbox.imagesOfSync,
      });
      results.push({ action: 'startContainer', target });
      return true;
    } catch (error) {
      sync.signal.throwIfAborted();
      const failure = startFailure(target, error);
      this.deps.meter?.containerNotStarted(type, failure.reason ?? '');
      results.push(failure);
      return false;
    }
  }

  private async recordResult(
    results: SyncResult[],
    action: SyncResult['action'],
    target: string,
    act: () => Promise<void>,
  ): Promise<boolean> {
    try {
      await act();
      results.push({ action, target });
      return true;
    } catch (error) {
      const reason = action === 'killPod' ? reasons.killPodSandboxError : reasons.killContainerError;
      results.push({ action, target, error, reason, message: errorMessage(error) });
      return false;
    }
  }

  /** Stops ephemeral containers and removes them with their logs. A failure does not block the pod. */
  private async removeEphemeralContainers(sync: PodSync, results: SyncResult[]): Promise<void> {
    const { pod, podStatus, recorder, removedContainers = [] } = sync;
    const removed = podStatus.containerStatuses.filter(({ name }) => removedContainers.includes(name));
    for (const status of removed) {
      const { id: containerID, name, state } = status;
      const kill = { containerID, name, message: `Ephemeral container ${name} is removed`, podIPs: podStatus.ips };
      await this.recordResult(results, 'killContainer', name, async () => {
        if (state !== 'exited') await killContainer(this.deps, pod, kill, recorder);
        await this.deps.podRemover.removeContainer(pod.metadata, status);
      });
    }
  }
}

/** Leaves out sandboxes that stopped before the newest was created, so that a crash loop stops each only once. */
function withoutStopped(sync: PodSync): PodSync {
  const { podStatus } = sync;
  const sandboxStatuses = podStatus.sandboxStatuses.filter(({ state }, index) => index === 0 || state === 'ready');
  return { ...sync, podStatus: { ...podStatus, sandboxStatuses } };
}

/** True if an operator requested a restart or a retry after the container's last exit. */
function skipsBackOff(
  { podStatus, ...sync }: PodSync,
  { name }: Container,
  { endedAtMonotonic }: FinishedRun,
): boolean {
  const ended = findContainerStatus(podStatus, name);
  const isAsked = ended !== undefined && sync.restarting?.includes(ended.id) === true;
  return isAsked || endedAtMonotonic <= (sync.retriedAtMonotonic ?? -Infinity);
}

function typeOf({ spec }: Pod, container: Container): ContainerType {
  if (spec.initContainers?.includes(container) === true) return 'init_container';
  return spec.ephemeralContainers?.some(({ name }) => name === container.name) === true
    ? 'ephemeral_container'
    : 'container';
}

function at(containers: readonly Container[], indexes: readonly number[]): Container[] {
  return indexes.flatMap((index) => containers[index] ?? []);
}
