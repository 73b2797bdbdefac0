import type { VolumeSources } from './by-kind.ts';

const notSupported = 'volumes of this kind are not supported';

/**
 * Why volumes of a kind cannot be mounted here, by the kind's field. A pod whose containers mount one does not start.
 */
export const unmountableVolumes = {
  awsElasticBlockStore: notSupported,
  azureDisk: notSupported,
  azureFile: notSupported,
  cephfs: notSupported,
  cinder: notSupported,
  fc: notSupported,
  flexVolume: notSupported,
  flocker: notSupported,
  gcePersistentDisk: notSupported,
  gitRepo: notSupported,
  glusterfs: notSupported,
  iscsi: notSupported,
  photonPersistentDisk: notSupported,
  portworxVolume: notSupported,
  quobyte: notSupported,
  rbd: notSupported,
  scaleIO: notSupported,
  storageos: notSupported,
  vsphereVolume: notSupported,
} as const satisfies Partial<Record<keyof VolumeSources, string>>;

export type UnmountableVolume = keyof typeof unmountableVolumes;
