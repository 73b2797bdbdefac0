import { join } from 'node:path';
import type { Pod } from '../../api/types.ts';
import { ContainerManager } from '../container-manager/container-manager.ts';
import { type DeviceEventListener, NodeDevices } from '../container-manager/device-manager/node-devices.ts';
import { exclusiveCPUs } from '../container-manager/resource-managers/exclusive-cpus.ts';
import type { PodResources } from '../container-manager/resource-managers/pod-resources.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import type { PodState } from './new-pod-state.ts';

export type NodeResources = ReturnType<typeof newNodeResources>;

interface Engine {
  activePods: () => Pod[];
  sourcesReady: () => boolean;
  /** Called when pods may get the devices that they wait for. */
  onDevices: DeviceEventListener;
  onFreedDevices: (podUIDs: readonly string[]) => void;
}

/** Creates the components that give pods their share of the node: cgroups, devices, CPUs and memory nodes. */
export function newNodeResources(base: KubeletBase, { podDirs, statusManager }: PodState, engine: Engine) {
  const { clock, emit, events, faults, inputs, logger, meter, node, runtime } = base;
  const { activePods, sourcesReady } = engine;
  const containerManager = new ContainerManager({
    node,
    cgroups: base.cgroups,
    activePods,
    ownPodUIDs: () => podDirs.podUIDs(),
    exclusiveCPUs: (pod) => withExclusiveCPUs(pod),
    emit,
    meter,
    logger: logger.child({ component: 'container-manager' }),
  });
  events.subscribe((event) => {
    if (event.type === 'WorkerStateChanged') void containerManager.qosCgroups.update();
  });
  const syncPods = (uids: ReadonlySet<string>): void => {
    for (const podUID of uids) inputs.push({ type: 'sync', podUID });
  };
  const devices =
    base.plugins &&
    new NodeDevices({
      folder: join(node.rootDir, 'device-plugins'),
      plugins: base.plugins,
      activePods,
      sourcesReady,
      managers: () => podResources,
      onEvent: engine.onDevices,
      onFreed: engine.onFreedDevices,
      onHealthChanged: node.featureGates.ResourceHealthStatus ? syncPods : undefined,
      meter,
      clock,
      faults,
      logger: logger.child({ component: 'device-manager' }),
    });
  const podResources: PodResources | undefined = base.podResources?.({
    devices: devices?.hintProvider,
    activePods,
    sourcesReady,
    podStatus: (uid) => statusManager.get(uid),
    meter,
    updateContainer: async (containerId, cpusetCpus) => {
      await runtime.updateContainerResources({ containerId, linux: { cpusetCpus } });
    },
  });
  const withExclusiveCPUs = exclusiveCPUs(podResources, node.featureGates);
  if (podResources !== undefined) {
    events.subscribe((event) => {
      if (event.type === 'ContainerDied') podResources.postStop(event.id);
      if (event.type === 'ContainerStarted' || event.type === 'WorkerStateChanged') podResources.scheduleReconcile();
    });
  }
  return { containerManager, devices, podResources, exclusiveCPUs: withExclusiveCPUs };
}
