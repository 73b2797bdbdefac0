import type { Pod, Volume } from '../../api/types.ts';
import type { ContainerConfig } from '../../cri/types.ts';
import type { CSIVolumes } from '../csi/csi-volumes.ts';
import type { PathGuard } from '../host/path-guard.ts';
import type { Logger } from '../../logger.ts';
import type { VolumeClaims } from '../persistent-volumes/volume-claims.ts';
import type { ContentSources } from './projected-content.ts';

/** A pod's volume on the host, ready for mounting into a container. kubelet: pkg/volume Attributes */
export interface MountedVolume {
  /** Empty for an image, because the runtime mounts images. */
  hostPath: string;
  /** The image to mount. Set once it is pulled. */
  image?: NonNullable<NonNullable<ContainerConfig['mounts']>[number]['image']>;
  /** True if containers can only read it. */
  readOnly: boolean;
  /** True if it belongs to the pod, so that SELinux may give it the container's label. */
  managed: boolean;
  /** True if its content outlives the pod, so it does not count as the pod's usage. */
  persistent?: boolean;
}

/** A volume to set up, and its sources. */
export interface VolumeRequest extends ContentSources {
  pod: Pod;
  podDir: string;
  volume: Volume;
  /** Milliseconds since the epoch. */
  now: () => number;
  claims: VolumeClaims;
  /** Guards hostPath volumes, whose file systems may hang. */
  paths: PathGuard;
  /** Undefined if the node has no plugins. */
  csi?: CSIVolumes | undefined;
  /** Cancels calls to drivers. */
  signal?: AbortSignal | undefined;
  logger?: Pick<Logger, 'warn'> | undefined;
}

/** Sets up one volume of a pod. kubelet: pkg/volume Mounter */
export interface VolumeMounter {
  /** For a claim, known only after the set-up. */
  readonly mount: MountedVolume;
  /** Creates or updates the volume. Rejects with a `UserError` if the manifest or the node must change. */
  setUp: () => Promise<void>;
  /** True if the volume may be mounted with its old content after a failed update. If unset, it never may. */
  hasContent?: () => Promise<boolean>;
}
