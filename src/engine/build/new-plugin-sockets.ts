import { join } from 'node:path';
import type { Pod } from '../../api/types.ts';
import type { CSIDrivers } from '../csi/csi-drivers.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import { podResourcesLister } from '../container-manager/list-pod-resources.ts';
import type { NodeResources } from './new-node-resources.ts';
import type { UnixServer } from '../../plugins/types.ts';
import type { PluginHandlers } from '../plugin-manager/plugin-handler.ts';
import { PluginManager } from '../plugin-manager/plugin-manager.ts';
import type { PodManager } from '../pod-start/pod-manager.ts';

interface Engine extends Pick<NodeResources, 'devices' | 'podResources'> {
  podManager: PodManager;
  activePods: () => Pod[];
  csiDrivers: CSIDrivers | undefined;
}

/** Creates the sockets where plugins register and monitoring agents query. A node without plugins has none. */
export function newPluginSockets(base: KubeletBase, engine: Engine) {
  const { podManager, devices, podResources, csiDrivers } = engine;
  const { clock, faults, logger, node, plugins } = base;
  if (plugins === undefined) return { pluginManager: undefined, podResourcesSocket: undefined };
  const handlers: PluginHandlers = {
    ...(devices && { DevicePlugin: devices.pluginHandler }),
    ...(csiDrivers && { CSIPlugin: csiDrivers }),
  };
  const pluginManager = new PluginManager({
    folder: join(node.rootDir, 'plugins_registry'),
    connect: plugins.connectRegistration,
    handlers,
    clock,
    faults,
    logger: logger.child({ component: 'plugin-manager' }),
  });
  const declaredPods = (): readonly Pod[] => podManager.pods();
  const activePods = (): Pod[] => {
    const active = new Set(engine.activePods().map(({ metadata }) => metadata.uid));
    return podManager.pods().filter(({ metadata }) => active.has(metadata.uid));
  };
  const listedPods = node.featureGates.KubeletPodResourcesListUseActivePods ? activePods : declaredPods;
  const lister = podResourcesLister({ declaredPods, listedPods, devices, podResources });
  let server: UnixServer | undefined;
  const podResourcesSocket = {
    /** Rejects with the system error. */
    start: async (): Promise<void> => {
      server = await plugins.servePodResources(join(node.rootDir, 'pod-resources', 'kubelet.sock'), lister);
    },
    close: (): void => server?.close(),
  };
  return { pluginManager, podResourcesSocket };
}
