import { LocalStorageEviction } from '../eviction/local-storage-eviction.ts';
import { PodEvictions } from '../eviction/pod-evictions.ts';
import { ContainerCollector } from '../gc/container-collector.ts';
import { ImageCollector } from '../images/image-collector.ts';
import { admissionNews } from '../lifecycle/admission-news.ts';
import { NodeShutdown } from '../lifecycle/node-shutdown.ts';
import { shutdownSeconds } from '../lifecycle/node-shutdown-groups.ts';
import { PodAdmission } from '../lifecycle/pod-admission.ts';
import { ShutdownWatch } from '../lifecycle/shutdown-watch.ts';
import { isPodRunning } from '../container/pod-records.ts';
import type { Foundation } from './foundation.ts';
import type { KubeletDeps } from './kubelet-deps.ts';
import type { PodCare } from './pod-care.ts';
import type { RuntimeView } from './runtime-view.ts';

/** What decides for the node as a whole: who may run on it, who has to go, what is cleared away. */
export interface NodeCare {
  evictions: PodEvictions;
  localStorageEviction: LocalStorageEviction;
  admission: PodAdmission;
  nodeShutdown: NodeShutdown;
  /** Undefined: nobody tells of a shutdown of the machine. */
  shutdownWatch: ShutdownWatch | undefined;
  imageCollector: ImageCollector;
  containerCollector: ContainerCollector;
}

export function buildNodeCare(
  deps: KubeletDeps,
  foundation: Foundation,
  view: RuntimeView,
  podCare: PodCare,
): NodeCare {
  const { clock, node, runtime, logger } = deps;
  const { events, inputs, podManager, statusManager, podDirs, housekeeping, wallClock } = foundation;
  const { runtimePods, pleg } = view;
  const { workers, volumeManager, podRemover, remains, news } = podCare;
  const { emit } = events;
  const evictions = new PodEvictions({ workers, statusManager, emit, clock });
  const localStorageEviction = new LocalStorageEviction({
    pods: () => workers.pods().filter(({ metadata }) => !workers.isPodTerminationRequested(metadata.uid)),
    volumeManager,
    evict: (pod, message) => {
      evictions.evict(pod, message);
    },
    clock,
    logger: logger.child({ component: 'eviction' }),
  });
  const admission = new PodAdmission({
    // Pressure is to come.
    node: () => ({
      ...node,
      name: node.nodeName,
      taints: [],
      pressures: [],
      isShuttingDown: nodeShutdown.isShuttingDown,
    }),
    declaredPods: () => podManager.pods(),
    activePods: () => workers.activePods().filter(({ metadata }) => podManager.get(metadata.uid) !== undefined),
    isRunning: (uid) => pleg.pods().some((pod) => pod.uid === uid && isPodRunning(pod)),
    killPod: (pod) => {
      workers.updatePod({ type: 'kill', pod, killPodOptions: { evict: true } });
      // It comes back when there is room for it again.
      workers.updatePod({ type: 'create', pod });
    },
    foreignPods: deps.foreignPods,
    statusManager,
    clock,
    emit,
    onDue: () => {
      inputs.push({ type: 'admission' });
    },
  });
  deps.foreignPods.onFreed(() => {
    admission.note('room');
  });
  events.subscribe((event) => {
    const podNews = admissionNews(event);
    if (podNews !== undefined) admission.note(podNews);
  });
  const nodeShutdown: NodeShutdown = new NodeShutdown({
    settings: node.shutdown,
    workers,
    statusManager,
    events,
    onCancelled: (stopped) => {
      // What is never restarted stays as it ended.
      for (const pod of stopped) {
        if (pod.spec.restartPolicy !== 'Never') workers.updatePod({ type: 'create', pod });
      }
      admission.note('node');
      housekeeping.request();
    },
    clock,
    logger: logger.child({ component: 'node-shutdown' }),
  });
  const shutdownWatch =
    deps.logind &&
    new ShutdownWatch({
      logind: deps.logind,
      nodeShutdown,
      neededSeconds: shutdownSeconds(node.shutdown),
      clock,
      logger: logger.child({ component: 'node-shutdown' }),
    });
  const imageCollector = new ImageCollector({
    runtime: { ...runtime, listContainers: deps.foreignPods.listAllContainers },
    imageService: deps.imageService,
    policy: node.images.gc,
    pods: () => [...podManager.pods(), ...workers.pods()],
    keptImages: deps.keptImages,
    readFilesystem: deps.readFilesystem,
    clock,
    emit,
    logger: logger.child({ component: 'gc' }),
  });
  const containerCollector = new ContainerCollector({
    runtime,
    runtimePods,
    podRemover,
    listedPods: () => pleg.pods(),
    ownPodUIDs: () => podDirs.podUIDs(),
    isBeingRemoved: (uid) => remains.removalOf(uid) !== undefined,
    onPodChanged: (uid) => {
      void news.relist(uid);
    },
    clock,
    wallClock,
    emit,
    logger: logger.child({ component: 'gc' }),
  });
  return {
    evictions,
    localStorageEviction,
    admission,
    nodeShutdown,
    shutdownWatch,
    imageCollector,
    containerCollector,
  };
}
