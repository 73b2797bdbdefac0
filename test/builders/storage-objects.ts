import { silentLogger } from '../fakes/silent-logger.ts';
import type { CSIDriver, PersistentVolume, PersistentVolumeClaim } from '../../src/api/values/persistent-volume.ts';
import { ConfigObjects } from '../../src/engine/config-objects/config-objects.ts';
import type { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import { VolumeClaims } from '../../src/engine/persistent-volumes/volume-claims.ts';

export function makeClaim(name: string, more: Partial<PersistentVolumeClaim> = {}): PersistentVolumeClaim {
  const accessModes = ['ReadWriteOnce'];
  return { kind: 'PersistentVolumeClaim', namespace: 'default', name, accessModes, storage: '1Gi', ...more };
}

/** A local volume of 1 GiB. */
export function makeVolume(name: string, more: Partial<PersistentVolume> = {}): PersistentVolume {
  return {
    kind: 'PersistentVolume',
    name,
    labels: {},
    accessModes: ['ReadWriteOnce'],
    storage: '1Gi',
    storageClassName: '',
    mountOptions: [],
    source: { local: { path: `/mnt/${name}` } },
    ...more,
  };
}

export function makeCSIDriver(name: string, more: Partial<CSIDriver> = {}): CSIDriver {
  return {
    kind: 'CSIDriver',
    name,
    podInfoOnMount: false,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    volumeLifecycleModes: ['Persistent', 'Ephemeral'],
    requiresRepublish: false,
    ...more,
  };
}

export const makeNode = (labels: Record<string, string> = {}) => ({ name: 'edge1', labels });

export function makeVolumeClaims(
  podDirs: PodDirs,
  rootDir: string,
  storage = new ConfigObjects(),
  logger = silentLogger,
): VolumeClaims {
  return new VolumeClaims({ rootDir, storage, node: makeNode(), podDirs, logger });
}
