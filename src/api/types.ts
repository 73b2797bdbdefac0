import type {} from 'kubernetes-types/apps/v1.js';
import type * as core from 'kubernetes-types/core/v1.js';
import type { Quantity } from 'kubernetes-types/api/resource.js';

/** Fields added to the API by Kubernetes 1.31 to 1.36; the package kubernetes-types describes 1.30. */
declare module 'kubernetes-types/core/v1.js' {
  interface PodSpec {
    /** Hostname of the pod, in place of `hostname`, `subdomain` and the pod's name. */
    hostnameOverride?: string;
    /** Resources of the whole pod. */
    resources?: ResourceRequirements;
    /** For schedulers only. */
    schedulingGroup?: PodSchedulingGroup;
  }
  interface PodSchedulingGroup {
    podGroupName?: string;
  }
  interface Container {
    /** By the exit code, before `restartPolicy`. */
    restartPolicyRules?: ContainerRestartRule[];
  }
  interface EphemeralContainer {
    restartPolicyRules?: ContainerRestartRule[];
  }
  interface ContainerRestartRule {
    /** `Restart` or `RestartAllContainers`. */
    action?: string;
    exitCodes?: ContainerRestartRuleOnExitCodes;
  }
  interface ContainerRestartRuleOnExitCodes {
    /** `In` or `NotIn`. */
    operator?: string;
    values?: number[];
  }
  interface EnvVarSource {
    /** A variable of a file in an emptyDir volume. */
    fileKeyRef?: FileKeySelector;
  }
  interface FileKeySelector {
    key: string;
    optional?: boolean;
    path: string;
    volumeName: string;
  }
  interface Lifecycle {
    /** Such as `SIGTERM` (gate ContainerStopSignals, off). */
    stopSignal?: string;
  }
  interface PodSecurityContext {
    /** `Merge` or `Strict`. */
    supplementalGroupsPolicy?: string;
    /** `Recursive` or `MountOption`. */
    seLinuxChangePolicy?: string;
  }
  interface Volume {
    /** An OCI image or artifact as a volume. */
    image?: ImageVolumeSource;
  }
  interface ImageVolumeSource {
    pullPolicy?: string;
    reference?: string;
  }
  interface VolumeProjection {
    /** Needs an API server. */
    podCertificate?: PodCertificateProjection;
  }
  interface PodCertificateProjection {
    certificateChainPath?: string;
    credentialBundlePath?: string;
    keyPath?: string;
    keyType?: string;
    maxExpirationSeconds?: number;
    signerName?: string;
    userAnnotations?: Record<string, string>;
  }
  interface ResourceClaim {
    /** One request of the claim; all of them when absent. */
    request?: string;
  }
  interface PodResourceClaim {
    resourceClaimName?: string;
    resourceClaimTemplateName?: string;
  }
  interface PodStatus {
    allocatedResources?: Record<string, Quantity>;
    observedGeneration?: number;
    resources?: ResourceRequirements;
  }
  interface PodCondition {
    observedGeneration?: number;
  }
  interface ContainerStatus {
    allocatedResourcesStatus?: ResourceStatus[];
    stopSignal?: string;
    user?: ContainerUser;
  }
  interface ResourceStatus {
    name: string;
    resources?: ResourceHealth[];
  }
  interface ResourceHealth {
    health?: string;
    message?: string;
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
  interface VolumeMountStatus {
    volumeStatus?: VolumeStatus;
  }
  interface VolumeStatus {
    image?: ImageVolumeStatus;
  }
  interface ImageVolumeStatus {
    imageRef?: string;
  }
}

declare module 'kubernetes-types/storage/v1.js' {
  interface CSIDriverSpec {
    nodeAllocatableUpdatePeriodSeconds?: number;
    preventPodSchedulingIfMissing?: boolean;
    serviceAccountTokenInSecrets?: boolean;
  }
}

declare module 'kubernetes-types/apps/v1.js' {
  interface DeploymentStatus {
    terminatingReplicas?: number;
  }
  interface ReplicaSetStatus {
    terminatingReplicas?: number;
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
