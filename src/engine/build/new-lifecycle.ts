import type { Pod } from '../../api/types.ts';
import type { SyncResult } from '../container/sync-result.ts';
import type { NodeConditions } from '../eviction/node-conditions.ts';
import { isPodRunning } from '../container/runtime-pod.ts';
import { revisionOf } from '../in-place/identify-pod.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import { admissionChange } from '../pod-start/admission-change.ts';
import { NodeShutdown } from '../lifecycle/node-shutdown.ts';
import { shutdownSeconds } from '../lifecycle/node-shutdown-groups.ts';
import { runsOnUntilThen } from '../view/reasons.ts';
import { PodStarter, type StartActions } from '../pod-start/pod-starter.ts';
import { ShutdownWatch } from '../lifecycle/shutdown-watch.ts';
import type { NodeResources } from './new-node-resources.ts';
import type { PodState } from './new-pod-state.ts';
import type { Workers } from './new-pod-workers.ts';
import type { PodSyncing } from './new-pod-syncer.ts';
import type { RuntimeWatch } from './new-runtime-watch.ts';
import type { Sources } from './new-sources.ts';

export type Lifecycle = ReturnType<typeof newLifecycle>;

type Earlier = PodState &
  Sources &
  RuntimeWatch &
  NodeResources &
  PodSyncing &
  Workers & { conditions: NodeConditions };

interface Engine {
  actions: () => StartActions;
  /** True if an operator stopped the pod. */
  isStopped: (pod: Pod) => boolean;
}

/** Creates the components that decide for the whole node which pods may start, and when all must stop. */
export function newLifecycle(base: KubeletBase, earlier: Earlier, { actions, isStopped }: Engine) {
  const { clock, emit, events, foreignPods, inputs, logger, meter, node } = base;
  const { conditions, config, housekeeping, pleg, podManager, runtimeState, statusManager, workers } = earlier;
  const { prepuller, reasonCache, statuses, statusRecords } = earlier;
  const starter = new PodStarter({
    podManager,
    actions,
    pull: (entry) => {
      const { pod } = entry;
      const { uid, name, namespace } = pod.metadata;
      const onResults = (results: readonly SyncResult[]): void => {
        reasonCache.update(uid, results.map(runningOn));
        statuses.update(pod, { uid, name, namespace, ips: [], containerStatuses: [], sandboxStatuses: [] }, false);
      };
      prepuller.start(entry, pod, { onResults });
    },
    isStopped,
    // An earlier agent was asked to rerun the pod, and did not finish removing its last run.
    mustRunAnew: ({ metadata: { uid } }) => !workers.has(uid) && statusRecords.of(uid)?.runsAnew === true,
    isDone: (pod) => statuses.isDone(pod),
    node: () => ({
      ...node,
      name: node.nodeName,
      taints: [],
      pressures: conditions.pressures,
      evictionPolicy: node.eviction.policy,
      isShuttingDown: nodeShutdown.isShuttingDown,
      supportsSupplementalGroupsPolicy: runtimeState.supportsSupplementalGroupsPolicy,
      allowsPodLevelResources: node.featureGates.PodLevelResources,
    }),
    activePods: () => workers.activePods().filter(({ metadata }) => podManager.get(metadata.uid) !== undefined),
    isRunning: (uid) => {
      const pod = pleg.runtimePod(uid);
      return pod !== undefined && isPodRunning(pod);
    },
    isTerminating: (uid) => workers.isPodTerminationRequested(uid),
    killPod: (pod) => {
      workers.updatePod({ type: 'kill', pod, killPodOptions: { evict: true } });
      // The pod starts again once there is room.
      workers.updatePod({ type: 'create', pod });
    },
    podResources: earlier.podResources,
    meter,
    devices: earlier.devices,
    classProblemOf: (pod) => config.classProblemOf(revisionOf(pod)),
    foreignPods,
    statusManager,
    clock,
    emit,
    onDue: () => {
      inputs.push({ type: 'admission' });
    },
  });
  foreignPods.onFreed(() => {
    starter.recordChange('room');
  });
  events.subscribe((event) => {
    const change = admissionChange(event);
    if (change !== undefined) starter.recordChange(change);
  });
  const shutdownLogger = logger.child({ component: 'node-shutdown' });
  const nodeShutdown: NodeShutdown = new NodeShutdown({
    settings: node.shutdown,
    meter,
    workers,
    statusManager,
    events,
    onCancelled: (stopped) => {
      // Pods with restartPolicy Never do not start again.
      for (const pod of stopped) {
        if (pod.spec.restartPolicy !== 'Never') workers.updatePod({ type: 'create', pod });
      }
      starter.recordChange('node');
      housekeeping.request();
    },
    clock,
    logger: shutdownLogger,
  });
  const shutdownWatch =
    base.logind &&
    new ShutdownWatch({
      logind: base.logind,
      nodeShutdown,
      neededSeconds: shutdownSeconds(node.shutdown),
      clock,
      logger: shutdownLogger,
    });
  return { starter, nodeShutdown, shutdownWatch };
}

/** Adds to the status of a pod that waits for its images that its earlier revision still runs. */
function runningOn(result: SyncResult): SyncResult {
  return result.error === undefined ? result : { ...result, message: `${result.message ?? ''}; ${runsOnUntilThen}` };
}
