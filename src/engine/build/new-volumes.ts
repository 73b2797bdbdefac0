import type { Pod } from '../../api/types.ts';
import type { Faults } from '../../flow/faults.ts';
import type { Logger } from '../../logger.ts';
import type { Plugins } from '../../plugins/types.ts';
import type { ConfigObjects } from '../config-objects/config-objects.ts';
import { CSIDrivers } from '../csi/csi-drivers.ts';
import { CSIVolumes } from '../csi/csi-volumes.ts';
import { PathGuard } from '../host/path-guard.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import type { PodState } from './new-pod-state.ts';
import type { Sources } from './new-sources.ts';
import type { NodeConfig } from '../config/node-config.ts';
import { VolumeClaims } from '../persistent-volumes/volume-claims.ts';
import { changesOwnershipOnMismatch, setVolumeOwnership } from '../volumes/ownership.ts';
import { failIfHung } from '../volumes/host-path.ts';
import { VolumeManager } from '../volumes/volume-manager.ts';

export type Volumes = ReturnType<typeof newVolumes>;

/** Creates the components that mount volumes: local ones, claims, and volumes of CSI drivers. */
export function newVolumes(base: KubeletBase, state: PodState, sources: Sources) {
  const { clock, faults, logger, node } = base;
  const { podManager, podDirs } = state;
  const { configObjects, housekeeping, workQueue } = sources;
  const volumesLogger = logger.child({ component: 'volumes' });
  const paths = new PathGuard({ maxHung: 1 });
  const csi =
    base.plugins &&
    newCSI({
      connect: base.plugins.connectCSINode,
      node,
      podDirs,
      configObjects,
      onRegistered: () => {
        const waiting = podManager.pods().filter(usesDrivers);
        for (const { metadata } of waiting) workQueue.enqueue(metadata.uid, 0);
        housekeeping.request();
      },
      faults,
      paths,
      logger: logger.child({ component: 'csi' }),
    });
  const claims = new VolumeClaims({
    rootDir: node.rootDir,
    storage: configObjects,
    node: { name: node.nodeName, labels: node.labels },
    podDirs,
    logger: volumesLogger,
  });
  const volumeManager = new VolumeManager({
    csi: csi?.volumes,
    podDirs,
    configObjects,
    allocatable: node.allocatable,
    clock,
    claims,
    onClaimFreed: (uid) => {
      workQueue.enqueue(uid, 0);
    },
    meter: base.meter,
    logger: volumesLogger,
    paths,
  });
  return { csiDrivers: csi?.drivers, claims, volumeManager };
}

interface CSIDeps {
  connect: Plugins['connectCSINode'];
  node: Pick<NodeConfig, 'rootDir' | 'nodeName'>;
  podDirs: PodDirs;
  configObjects: ConfigObjects;
  /** Called when a driver becomes available. */
  onRegistered: () => void;
  faults: Pick<Faults, 'watch'>;
  paths: PathGuard;
  logger: Logger;
}

/** Creates the registry of CSI drivers, and the component that mounts their volumes. */
export function newCSI(deps: CSIDeps): { drivers: CSIDrivers; volumes: CSIVolumes } {
  const { connect, node, podDirs, configObjects, onRegistered, faults, paths, logger } = deps;
  const drivers: CSIDrivers = new CSIDrivers({
    connect,
    onRegistered: (driver) => {
      faults.watch('unused volumes', volumes.removeUnused(driver));
      onRegistered();
    },
    logger,
  });
  const volumes = new CSIVolumes({
    ...node,
    podDirs,
    drivers,
    storage: configObjects,
    configObjects,
    changeOwnership: async (path, { pod, readOnly }) => {
      const { fsGroup } = pod.spec.securityContext ?? {};
      if (fsGroup === undefined) return;
      await failIfHung('its fsGroup cannot be set', paths.check(path));
      await setVolumeOwnership(path, { fsGroup, readOnly, onRootMismatch: changesOwnershipOnMismatch(pod), logger });
    },
    logger,
  });
  return { drivers, volumes };
}

/** True if the pod may wait for a CSI driver. */
function usesDrivers({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(({ csi, persistentVolumeClaim }) => csi ?? persistentVolumeClaim);
}
