import type { Pod, Volume } from '../../api/types.ts';
import type { ContainerConfig } from '../../cri/types.ts';
import type { PayloadSources } from './volume-payload.ts';

/** Where a volume of a pod is on the host, ready to be mounted into a container. kubelet: pkg/volume Attributes */
export interface MountedVolume {
  /** Empty for an image, which the runtime mounts by itself. */
  hostPath: string;
  /** What the runtime mounts, once it is there. */
  image?: NonNullable<NonNullable<ContainerConfig['mounts']>[number]['image']>;
  /** Containers can only read it, whatever their mount says. */
  readOnly: boolean;
  /** It is the pod's own, so that SELinux may label it as the container's. */
  managed: boolean;
}

/** The volume that is wanted, and what it is made from. */
export interface VolumeRequest extends PayloadSources {
  pod: Pod;
  podDir: string;
  volume: Volume;
  /** Wall time. */
  now: () => number;
  /** Images may be volumes: feature gate ImageVolume. */
  imageVolumes: boolean;
}

/** Sets up one volume of a pod. kubelet: pkg/volume Mounter */
export interface VolumeMounter {
  mount: MountedVolume;
  /** Makes the volume, or brings it up to date. Rejects with a `UserError` where the manifest or the node has to change. */
  setUp: () => Promise<void>;
  /** True if the volume may be mounted as it was, when it cannot be brought up to date. Unset if it never may. */
  hasContent?: () => Promise<boolean>;
}
