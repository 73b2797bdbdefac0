import { BackOff } from '../../flow/back-off.ts';
import type { PodGarbage } from '../gc/pod-garbage.ts';
import { contentStore, contentStoreProgress } from '../images/content-store.ts';
import { ImageManager } from '../images/image-manager.ts';
import { layerIngests } from '../images/layer-ingests.ts';
import { PullCredentials } from '../images/pull-credentials.ts';
import { PullRecords } from '../images/pull-records.ts';
import { PullWatch } from '../images/pull-watch.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import { crashLoopBackOffLimits } from '../kuberuntime/actions/crash-loop-back-off.ts';
import { KuberuntimeManager } from '../kuberuntime/kuberuntime-manager.ts';
import type { PodRemover } from '../kuberuntime/pod-remover.ts';
import type { NodeResources } from './new-node-resources.ts';
import type { PodState } from './new-pod-state.ts';
import type { RuntimeWatch } from './new-runtime-watch.ts';
import type { Sources } from './new-sources.ts';
import type { Volumes } from './new-volumes.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import type { PodWorkers } from '../pod-workers/pod-workers.ts';
import { PodStatuses } from '../status/pod-statuses.ts';
import { KubeletPodSyncer } from '../sync-loop/pod-syncer.ts';
import { ProberManager } from '../prober/prober-manager.ts';
import { ipFamilyOf } from '../status/generate-pod-status.ts';
import { Services } from '../services/services.ts';
import { ReasonCache } from '../status/reason-cache.ts';
import { UserNamespaces } from '../userns/user-namespaces.ts';
import type { SandboxDelay } from '../view/snapshot.ts';

export type PodSyncing = ReturnType<typeof newPodSyncer>;

type Earlier = PodState & Sources & RuntimeWatch & Volumes & NodeResources & { podRemover: PodRemover };

interface Engine extends Pick<
  ConstructorParameters<typeof KubeletPodSyncer>[0],
  'restarting' | 'onPodChanged' | 'isUndeclared' | 'keepsVolumes'
> {
  areSourcesSeen: () => boolean;
  garbage: () => PodGarbage;
  workers: () => PodWorkers;
}

/** Creates the components that perform one sync of a pod: images, probes, containers. */
export function newPodSyncer(base: KubeletBase, earlier: Earlier, { garbage, workers, ...engine }: Engine) {
  const { clock, emit, events, inputs, logger, meter, node, runtime, secrets, wallClock } = base;
  const { configObjects, containerManager, devices, podDirs, runtimePods, runtimeState } = earlier;
  const { statusManager, statusRecords, appliedRevisions, podManager } = earlier;
  const supportsRecursiveReadOnly = (): boolean => runtimeState.supportsRecursiveReadOnly;
  const prober = new ProberManager({
    runtime,
    checkHealth: base.checkHealth,
    meter,
    getStatus: (uid) => statusManager.get(uid),
    onChange: (change) => {
      inputs.push({ type: 'probe', change });
    },
    emit,
    clock,
    wallClock,
    nodeIPs: node.nodeIPs,
    random: base.random,
  });
  const store = contentStore(runtime);
  const pullWatch = new PullWatch({ readIngests: layerIngests(store), clock, emit });
  const { verification } = node.images;
  const pullRecords =
    verification &&
    new PullRecords({
      rootDir: node.rootDir,
      verification,
      loadedImages: base.keptImages,
      clock,
      meter,
      logger: logger.child({ component: 'images' }),
    });
  const imageManager = new ImageManager({
    imageService: base.imageService,
    backOff: new BackOff(clock),
    clock,
    settings: node.images,
    pullProgress: contentStoreProgress(store),
    pullWatch,
    credentials: new PullCredentials({ configObjects, nodeCredentials: base.nodeCredentials, secrets }),
    pullRecords,
    meter,
  });
  const reasonCache = new ReasonCache();
  const backOff = new BackOff(clock, crashLoopBackOffLimits(node));
  const services = new Services({
    declared: configObjects,
    network: base.serviceNetwork,
    areSourcesSeen: engine.areSourcesSeen,
    pods: () => workers().pods(),
    isTerminating: (uid) => workers().isPodTerminationRequested(uid),
    runningPods: () => {
      const running = earlier.pleg.pods().filter(isRunning);
      return running.map(({ uid }) => ({ uid, isDeclared: podManager.get(uid) !== undefined }));
    },
    statusOf: (uid) => statusManager.get(uid),
    podDir: (uid) => podDirs.podDir(uid),
    nodeIPs: node.nodeIPs,
    clusterDomain: node.clusterDomain,
    rootDir: node.rootDir,
    emit,
    clock,
    faults: base.faults,
    logger: logger.child({ component: 'services' }),
  });
  events.subscribe(({ type }) => {
    if (type === 'PodStatusChanged' || type === 'WorkerStateChanged') services.update();
  });
  const sandboxDelays = new Map<string, SandboxDelay>();
  const kuberuntime = new KuberuntimeManager({
    runtime,
    meter,
    imageManager,
    podDirs,
    configObjects,
    nodeClasses: configObjects,
    podRemover: earlier.podRemover,
    podCgroups: containerManager.podResize,
    userNamespaces: new UserNamespaces({
      podDirs,
      ids: node.userNamespaceIDs,
      isSupported: () => runtimeState.supportsUserNamespaces,
    }),
    node,
    supportsRecursiveReadOnly,
    ignoresCDIDevices: () => runtimeState.ignoresCDIDevices,
    ignoresImageSubPaths: () => runtimeState.ignoresImageSubPaths,
    restartCounts: earlier.histories,
    postStartHooks: statusRecords,
    podResources: earlier.podResources,
    exclusiveCPUs: earlier.exclusiveCPUs,
    devices,
    services,
    sandboxDelays,
    clock,
    wallClock,
    backOff,
    logger: logger.child({ component: 'kuberuntime' }),
  });
  const statuses = new PodStatuses({
    statusManager,
    statusRecords,
    reasonCache,
    prober,
    ephemeral: earlier.ephemeral,
    devices: node.featureGates.ResourceHealthStatus ? devices : undefined,
    clock,
    wallClock,
    runtimeName: () => runtimeState.name,
    nodeIPFamily: () => ipFamilyOf(node.nodeIPs()),
    supportsRecursiveReadOnly,
    resizeOf: (uid) => {
      const pending = podManager.entry(uid)?.update?.pending;
      const error = appliedRevisions.resizeError(uid);
      return {
        isInProgress: appliedRevisions.isResizing(uid),
        ...(pending !== undefined && { pending }),
        ...(error !== undefined && { error }),
      };
    },
  });
  const syncer = new KubeletPodSyncer({
    ...engine,
    kuberuntime,
    podDirs,
    volumeManager: earlier.volumeManager,
    claimsOf: (uid) => earlier.claims.uses.claimsOf(uid),
    statuses,
    appliedRevisions,
    ephemeral: earlier.ephemeral,
    prober,
    reasonCache,
    containerManager,
    clock,
    emit,
    networkError: () => runtimeState.networkError,
    drained: () => services.drained(),
    getPodStatus: (uid) => runtimePods.getPodStatus(uid),
    removePod: async (uid) => {
      await Promise.all([statusRecords.release(uid), appliedRevisions.release(uid)]);
      await garbage().removePod(uid);
    },
  });
  return {
    prober,
    pullWatch,
    pullRecords,
    imageManager,
    reasonCache,
    backOff,
    sandboxDelays,
    services,
    statuses,
    syncer,
  };
}

const isRunning = ({ sandboxes }: RuntimePod): boolean => sandboxes.some(({ state }) => state === 'ready');
