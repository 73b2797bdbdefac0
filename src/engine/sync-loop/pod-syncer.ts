import type { Pod } from '../../api/types.ts';
import type { ClaimName } from '../../api/values/persistent-volume.ts';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import { BackOff } from '../../flow/back-off.ts';
import { isFolder, makeFolder } from '../../files/make-folder.ts';
import type { ContainerManager } from '../container-manager/container-manager.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import { mayBeRunning, type RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { SyncResult } from '../container/sync-result.ts';
import type { EphemeralContainers } from '../ephemeral-containers/ephemeral-containers.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import type { AppliedRevisions } from '../in-place/applied-revisions.ts';
import type { PodChange } from '../in-place/compute-pod-change.ts';
import type { KuberuntimeManager } from '../kuberuntime/kuberuntime-manager.ts';
import { podToStop } from '../kuberuntime/pod-to-stop.ts';
import type { SyncedResize } from '../kuberuntime/resize-pod.ts';
import { areAllContainersRestarting } from '../kuberuntime/actions/restart-all-containers.ts';
import type { PodStatuses } from '../status/pod-statuses.ts';
import type { PodSyncer } from '../pod-workers/pod-worker.ts';
import { NetworkNotReadyError, SyncPodError, throwOnFailure } from '../pod-workers/sync-pod-error.ts';
import type { SyncPodType } from '../pod-workers/update-pod-options.ts';
import type { ProberManager } from '../prober/prober-manager.ts';
import type { ReasonCache } from '../status/reason-cache.ts';
import type { Emit } from '../view/event-bus.ts';
import { type PodEventRecorder, podEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';
import type { MountedVolume } from '../volumes/volume-mounter.ts';

/**
 * Back-off of failed mounts, because a missing path often appears soon. kubelet:
 * pkg/util/goroutinemap/exponentialbackoff
 */
const mountBackOffLimits = { initialMs: 500, maxMs: 122_000 };

interface Deps {
  kuberuntime: KuberuntimeManager;
  podDirs: PodDirs;
  volumeManager: VolumeManager;
  /** The claims that a pod uses. */
  claimsOf: (uid: string) => Promise<ClaimName[]>;
  statuses: PodStatuses;
  appliedRevisions: AppliedRevisions;
  reasonCache: ReasonCache;
  containerManager: ContainerManager;
  prober: ProberManager;
  clock: Clock;
  emit: Emit;
  /** Set while the pod network is not ready. */
  networkError: () => string | undefined;
  /** Resolves once no new connection to a Service leads to a stopping pod, or after a second. */
  drained: () => Promise<void>;
  /** Reads the pod from the runtime. */
  getPodStatus: (uid: string) => Promise<RuntimePodStatus>;
  /** Called after the agent changed the pod in the runtime. */
  onPodChanged: (uid: string) => void;
  /** Ids of containers that an operator wants to restart. */
  restarting: (pod: Pod) => readonly string[];
  ephemeral: Pick<EphemeralContainers, 'effective' | 'settle'>;
  /** True if no manifest declares the pod anymore. */
  isUndeclared: (uid: string) => boolean;
  /** True if an operator stopped the pod, and it will restart with the data in its volumes. */
  keepsVolumes: (pod: Pod) => boolean;
  /** Removes the remains of a stopped pod from the runtime and the disk. */
  removePod: (uid: string) => Promise<void>;
}

/** The three kinds of sync for a pod worker. kubelet: kubelet.go SyncPod, SyncTerminatingPod, SyncTerminatedPod */
export class KubeletPodSyncer implements PodSyncer {
  /** Back-off of pods with failed mounts, by UID. */
  private readonly mountBackOff: BackOff;
  /** Monotonic time when an operator requested an immediate retry, by UID. */
  private readonly retriedAt = new Map<string, number>();
  /** Claims of terminated pods until their volumes are unmounted, by UID. */
  private readonly usedClaims = new Map<string, readonly ClaimName[]>();

  constructor(private readonly deps: Deps) {
    this.mountBackOff = new BackOff(deps.clock, mountBackOffLimits);
  }

  /** Resets all back-offs of a pod before its next sync. */
  retry(uid: string): void {
    this.mountBackOff.reset(uid);
    this.retriedAt.set(uid, this.deps.clock.monotonic());
  }

  async syncPod(_type: SyncPodType, pod: Pod, found: RuntimePodStatus, signal: AbortSignal): Promise<boolean> {
    const { kuberuntime, containerManager, podDirs, prober, reasonCache, ephemeral, statuses } = this.deps;
    const { uid } = pod.metadata;
    const recorder = podEventRecorder(this.deps.emit, pod);

    // Step 0: resume the record of an earlier agent.
    statuses.resume(pod, found);

    // Step 1: update the status. A pod in a final phase does not start again.
    const isFirst = !statuses.has(uid);
    const status = statuses.update(pod, found, false);
    if (isPodPhaseTerminal(status.phase)) return true;
    const podStatus = { ...statuses.withDone(found), ips: (status.podIPs ?? []).flatMap(({ ip = '' }) => ip) };

    // Step 2: check the network. Without it only host-network pods start.
    const networkError = this.deps.networkError();
    if (networkError !== undefined && pod.spec.hostNetwork !== true) {
      recorder.warning(reasons.networkNotReady, `network is not ready: ${networkError}`);
      throw new NetworkNotReadyError(`network is not ready: ${networkError}`);
    }

    // Step 3: create the pod's folder first, because it marks the pod as this agent's.
    const folder = podDirs.podDir(uid);
    // A running pod already has a folder, and stat is cheaper than a failing mkdir.
    if (!mayBeRunning(podStatus) || !(await isFolder(folder))) await makeFolder(folder, 0o750);

    // Step 4: record the revision before anything of it is applied.
    await this.acceptRevision(pod, podStatus, recorder);

    // Step 5: create the pod's cgroup before any process starts.
    signal.throwIfAborted();
    await containerManager.ensurePodCgroup(pod, mayBeRunning(podStatus)).catch((error: unknown) => {
      recorder.warning(
        reasons.failedCreatePodContainer,
        `unable to ensure pod container exists: ${errorMessage(error)}`,
      );
      throw new SyncPodError(`unable to make the pod's cgroup: ${errorMessage(error)}`, {
        cause: error,
        isReported: true,
      });
    });

    if (isFirst && mayBeRunning(podStatus)) await kuberuntime.clearMemoryQoS(pod, podStatus, signal);

    // Step 6: mount the volumes.
    const volumes = await this.mountVolumes(pod, recorder, signal);

    // Step 7: add the probes, which wait until their containers run.
    signal.throwIfAborted();
    prober.addPod(pod);

    // Step 8: sync the runtime.
    const probes = prober.results;
    const resize = this.resizeOf(uid);
    const removedContainers = await ephemeral.settle(uid, podStatus);
    const effective = ephemeral.effective(pod);
    const retriedAtMonotonic = this.retriedAt.get(uid);
    const unfinishedHooks = statuses.unfinishedHooks(uid);
    const asked = { restarting: this.deps.restarting(pod), retriedAtMonotonic, removedContainers, unfinishedHooks };
    let hasNewSandbox = false;
    const onSandboxReady = (): void => {
      hasNewSandbox = true;
      statuses.update(pod, podStatus, false, hasNewSandbox);
    };
    const sync = { pod: effective, podStatus, probes, volumes, recorder, signal, onSandboxReady, resize, ...asked };
    // Otherwise a kill after the removal of a done container would leave the record that it does not run again.
    if (areAllContainersRestarting(effective, podStatus)) await statuses.saveDone(pod, found);
    const results = await kuberuntime.syncPod(sync);
    reasonCache.update(uid, results);
    const refused = results.find(({ action, error }) => action === 'resizePod' && error !== undefined);
    this.deps.appliedRevisions.resizeEnded(uid, refused?.message);
    if (removedContainers.length > 0)
      await ephemeral.settle(uid, withoutRemoved(podStatus, removedContainers, results));
    if (results.length > 0) this.deps.onPodChanged(uid);
    // Otherwise the status of step 1 is still valid.
    const isChanged = results.length > 0 || removedContainers.length > 0 || resize !== undefined;
    if (isFirst || isChanged) statuses.update(pod, podStatus, false, hasNewSandbox);
    throwOnFailure(results, this.deps.clock.monotonic());
    // Once all containers are removed, they start again at once.
    if (results.some(({ action }) => action === 'resetContainer'))
      throw new SyncPodError('all containers of the pod restart', { retryAfterMs: 0, isReported: true });
    return false;
  }

  async syncTerminatingPod(
    pod: Pod,
    podStatus: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { prober, statuses } = this.deps;
    statuses.resume(pod, podStatus);
    statuses.update(pod, podStatus, false);
    prober.stopLivenessAndStartup(pod);
    await this.deps.drained();
    await this.kill(pod, podStatus, gracePeriodSeconds);
    signal.throwIfAborted();
    prober.removePod(pod.metadata.uid);
    const stopped = await this.deps.getPodStatus(pod.metadata.uid);
    const running = stopped.containerStatuses.filter(({ state }) => state === 'running').map(({ name }) => name);
    if (running.length > 0) {
      throw new SyncPodError(`containers still run after they were stopped: ${running.join(', ')}`);
    }
    statuses.update(pod, { ...stopped, ips: podStatus.ips }, true);
  }

  /**
   * Stops a pod without a manifest as if it had one. The kubelet allows one second and runs no hooks: pod_workers.go,
   * kubelet_pods.go HandlePodCleanups
   */
  async syncTerminatingRuntimePod({ uid }: RuntimePod): Promise<void> {
    const podStatus = await this.deps.getPodStatus(uid);
    await this.kill(podToStop(podStatus, this.deps.appliedRevisions.of(uid)), podStatus, undefined);
  }

  async syncTerminatedPod(pod: Pod, podStatus: RuntimePodStatus): Promise<void> {
    const { volumeManager, containerManager, isUndeclared, keepsVolumes } = this.deps;
    const { uid } = pod.metadata;
    this.deps.statuses.update(pod, podStatus, true);
    const claims = await this.deps.claimsOf(uid);
    // A repeated sync finds none.
    if (claims.length > 0) this.usedClaims.set(uid, claims);
    if (keepsVolumes(pod)) await volumeManager.unmountStoppedPod(uid);
    else await volumeManager.unmountPodVolumes(uid);
    this.mountBackOff.reset(uid);
    this.retriedAt.delete(uid);
    await containerManager.podCgroups.remove(uid);
    // Keep the containers of a finished pod for `logs` and its status until its manifest is removed. A stopped pod also
    // keeps them if it was declared again, for example after a cancelled node shutdown.
    if (!isUndeclared(uid) || keepsVolumes(pod)) return;
    this.reportKeptClaims(pod);
    await this.deps.removePod(uid);
  }

  /** Reports once that the claims of a terminated pod outlive it. */
  reportKeptClaims(pod: Pod): void {
    const { uid } = pod.metadata;
    const recorder = podEventRecorder(this.deps.emit, pod);
    for (const { name } of this.usedClaims.get(uid) ?? [])
      recorder.normal(reasons.claimKept, `persistentvolumeclaim "${name}" keeps its data`);
    this.usedClaims.delete(uid);
  }

  /** Records this revision as the one that the pod runs. A resize emits its event once it is applied. */
  private async acceptRevision(pod: Pod, podStatus: RuntimePodStatus, recorder: PodEventRecorder): Promise<void> {
    const change = await this.deps.appliedRevisions.accept(pod, podStatus);
    if (change.kind !== 'inPlace') return;
    if (change.isPodResized || change.resize.length > 0) {
      recorder.normal(reasons.resizeStarted, `Changing resources in place: ${changeText({ ...change, images: [] })}`);
      this.deps.statuses.update(pod, podStatus, false);
    }
    const restarting = [...change.images, ...change.resize.flatMap(({ name, restart }) => (restart ? [name] : []))];
    const what = restarting.length === 0 ? 'no container restarts' : `only ${restarting.join(', ')} restarts`;
    recorder.normal(reasons.updatedInPlace, `Updated in place, ${what}: ${changeText(change)}`);
  }

  /** Returns undefined if the pod's resources match its revision. */
  private resizeOf(uid: string): SyncedResize | undefined {
    const { appliedRevisions } = this.deps;
    if (!appliedRevisions.isResizing(uid)) return undefined;
    const onResized = (containerID: string): void => {
      appliedRevisions.containerResized(uid, containerID);
    };
    const onFinished = (): void => {
      void appliedRevisions.resized(uid);
    };
    const outdatedPod = appliedRevisions.outdatedPod(uid);
    return {
      outdated: appliedRevisions.outdated(uid),
      ...(outdatedPod !== undefined && { outdatedPod }),
      onResized,
      onFinished,
    };
  }

  /** Mounts the volumes. A volume that keeps its old content after a failed update does not fail the sync. */
  private async mountVolumes(
    pod: Pod,
    recorder: PodEventRecorder,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, MountedVolume>> {
    const { mounted, failures } = await this.deps.volumeManager.mountPodVolumes(pod, signal);
    signal.throwIfAborted();
    for (const [name, { message }] of failures) {
      recorder.warning(reasons.failedMount, `MountVolume.SetUp failed for volume "${name}" : ${message}`);
    }
    const unmounted = [...failures].filter(([name]) => !mounted.has(name));
    const [first] = unmounted;
    const { uid } = pod.metadata;
    if (first === undefined) {
      this.mountBackOff.reset(uid);
      return mounted;
    }
    this.mountBackOff.next(uid, this.deps.clock.monotonic());
    const [, cause] = first;
    const names = unmounted.map(([name]) => name).join(' ');
    const retryAfterMs = this.mountBackOff.get(uid);
    throw new SyncPodError(`unmounted volumes=[${names}]: ${cause.message}`, { cause, retryAfterMs, isReported: true });
  }

  private async kill(pod: Pod, podStatus: RuntimePodStatus, gracePeriodOverride: number | undefined): Promise<void> {
    const recorder = podEventRecorder(this.deps.emit, pod);
    try {
      await this.deps.kuberuntime.killPod({ pod, podStatus, recorder, gracePeriodOverride });
    } catch (error) {
      recorder.warning(reasons.failedKillPod, `error killing pod: ${errorMessage(error)}`);
      throw new SyncPodError(`error killing pod: ${errorMessage(error)}`, { cause: error, isReported: true });
    } finally {
      this.deps.onPodChanged(pod.metadata.uid);
    }
  }
}

/** Such as `image of app; resources of app, cache`. */
function changeText({ images, resize, isPodResized }: Extract<PodChange, { kind: 'inPlace' }>): string {
  const parts = [
    ['image', images],
    ['resources', [...(isPodResized ? ['the pod'] : []), ...resize.map(({ name }) => name)]],
  ] as const;
  return parts.flatMap(([what, names]) => (names.length === 0 ? [] : [`${what} of ${names.join(', ')}`])).join('; ');
}

/** Removes the containers whose removal succeeded from the pod's status. */
function withoutRemoved(
  podStatus: RuntimePodStatus,
  names: readonly string[],
  results: readonly SyncResult[],
): RuntimePodStatus {
  const failed = new Set(results.filter(({ error }) => error !== undefined).map(({ target }) => target));
  const isLeft = ({ name }: { name: string }): boolean => !names.includes(name) || failed.has(name);
  return { ...podStatus, containerStatuses: podStatus.containerStatuses.filter(isLeft) };
}
