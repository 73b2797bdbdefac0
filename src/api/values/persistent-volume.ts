import type { PersistentVolumeSpec, VolumeNodeAffinity } from 'kubernetes-types/core/v1.js';
import type { LabelSelector } from 'kubernetes-types/meta/v1.js';

/** A PersistentVolumeClaim from a manifest: storage that persists beyond its pods. Quantities are as written. */
export interface PersistentVolumeClaim {
  kind: 'PersistentVolumeClaim';
  namespace: string;
  name: string;
  accessModes: readonly string[];
  /** Size that it requests. */
  storage: string;
  /** Undefined if the claim names no class. Empty to accept only declared volumes without a class. */
  storageClassName?: string;
  /** The volume that it requests by name. */
  volumeName?: string;
  selector?: LabelSelector;
}

/** Kinds of volumes that claims can bind here. */
export type PersistentVolumeSource = Pick<PersistentVolumeSpec, 'csi' | 'hostPath' | 'local' | 'nfs'>;

/** A PersistentVolume from a manifest: storage that already exists. Quantities are as written. */
export interface PersistentVolume {
  kind: 'PersistentVolume';
  name: string;
  labels: Readonly<Record<string, string>>;
  accessModes: readonly string[];
  /** Its size. */
  storage: string;
  /** Empty for none. */
  storageClassName: string;
  /** The only claim that may have it. */
  claimRef?: ClaimName;
  nodeAffinity?: VolumeNodeAffinity;
  mountOptions: readonly string[];
  source: PersistentVolumeSource;
}

/** A CSIDriver from a manifest: how volumes of a driver are mounted. Fields have the defaults of the API. */
export interface CSIDriver {
  kind: 'CSIDriver';
  name: string;
  podInfoOnMount: boolean;
  fsGroupPolicy: string;
  volumeLifecycleModes: readonly string[];
  requiresRepublish: boolean;
}

export interface ClaimName {
  namespace: string;
  name: string;
}

/** An object about storage. */
export type StorageObject = PersistentVolumeClaim | PersistentVolume | CSIDriver;

/** Finds the declared objects about storage. */
export interface StorageLookup {
  /** Returns undefined if no manifest declares it. */
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  /** All of them, sorted by name. */
  persistentVolumes(): PersistentVolume[];
  /** Returns undefined if no manifest declares it. */
  csiDriver(name: string): CSIDriver | undefined;
}
