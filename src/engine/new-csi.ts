import type { Pod } from '../api/types.ts';
import type { Faults } from '../flow/faults.ts';
import type { Logger } from '../logger.ts';
import type { Plugins } from '../plugins/types.ts';
import type { ConfigObjects } from './config/config-objects.ts';
import { CSIDrivers } from './csi/csi-drivers.ts';
import { CSIVolumes } from './csi/csi-volumes.ts';
import type { PodDirs } from './host/pod-dirs.ts';
import type { NodeConfig } from './node-config.ts';
import { changesOwnershipOnMismatch, setVolumeOwnership } from './volumes/ownership.ts';

interface Deps {
  connect: Plugins['connectCSINode'];
  node: Pick<NodeConfig, 'rootDir' | 'nodeName'>;
  podDirs: PodDirs;
  configObjects: ConfigObjects;
  /** Called when a driver can be used. */
  onRegistered: () => void;
  faults: Pick<Faults, 'watch'>;
  logger: Logger;
}

/** Makes the registry of CSI drivers, and the part that mounts their volumes. */
export function newCSI(deps: Deps): { drivers: CSIDrivers; volumes: CSIVolumes } {
  const { connect, node, podDirs, configObjects, onRegistered, faults, logger } = deps;
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
    changeOwnership: (path, { pod, readOnly }) => {
      const { fsGroup } = pod.spec.securityContext ?? {};
      return setVolumeOwnership(path, { fsGroup, readOnly, onRootMismatch: changesOwnershipOnMismatch(pod) });
    },
    logger,
  });
  return { drivers, volumes };
}

/** True if the pod may wait for a CSI driver. */
export function usesDrivers({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(({ csi, persistentVolumeClaim }) => csi ?? persistentVolumeClaim);
}
