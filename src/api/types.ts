import type * as core from 'kubernetes-types/core/v1.js';
import type { Quantity } from 'kubernetes-types/api/resource.js';

/** Fields added to the Pod API by Kubernetes 1.31 and 1.32; the package kubernetes-types describes 1.30. */
declare module 'kubernetes-types/core/v1.js' {
  interface PodSpec {
    /** Resources of the whole pod (gate PodLevelResources, off). */
    resources?: ResourceRequirements;
  }
  interface PodSecurityContext {
    /** `Merge` or `Strict`. */
    supplementalGroupsPolicy?: string;
    /** `Recursive` or `MountOption`. */
    seLinuxChangePolicy?: string;
  }
  interface Volume {
    /** An OCI image or artifact as a volume (gate ImageVolume, off). */
    image?: ImageVolumeSource;
  }
  interface ImageVolumeSource {
    pullPolicy?: string;
    reference?: string;
  }
  interface ResourceClaim {
    /** One request of the claim; all of them when absent. */
    request?: string;
  }
  interface PodResourceClaim {
    resourceClaimName?: string;
    resourceClaimTemplateName?: string;
  }
  interface ContainerStatus {
    allocatedResourcesStatus?: ResourceStatus[];
    user?: ContainerUser;
  }
  interface ResourceStatus {
    name: string;
    resources?: ResourceHealth[];
  }
  interface ResourceHealth {
    health?: string;
    resourceID: string;
  }
  interface ContainerUser {
    linux?: LinuxContainerUser;
  }
  interface LinuxContainerUser {
    gid: number;
    supplementalGroups?: number[];
    uid: number;
  }
}

/** A pod as its author wrote it: known fields only, no defaults, quantities as text. */
export type RawPod = core.Pod;

/**
 * The v1 Pod API as JSON. A pod that passed the decoder and `applyDefaults` has a name, a namespace, a uid and a spec;
 * this type requires them.
 */
export type Pod = Omit<core.Pod, 'metadata' | 'spec'> & {
  metadata: NonNullable<core.Pod['metadata']> & { name: string; namespace: string; uid: string };
  spec: core.PodSpec;
};
export type Container = core.Container;
export type ContainerPort = core.ContainerPort;
export type ContainerState = core.ContainerState;
export type ContainerStatus = core.ContainerStatus;
export type EnvVar = core.EnvVar;
export type EphemeralContainer = core.EphemeralContainer;
export type PodCondition = core.PodCondition;
export type PodSpec = core.PodSpec;
export type PodStatus = core.PodStatus;
export type Volume = core.Volume;
/** Quantities by resource name, such as `{cpu: '100m', memory: '64Mi'}`. */
export type ResourceList = Record<string, Quantity>;
