import type { CSIDriver } from '../../api/values/persistent-volume.ts';
import type { Pod } from '../../api/types.ts';
import type { CSINode } from '../../plugins/types.ts';
import type { CSIVolumeSpec } from './csi-volume-spec.ts';

type PublishRequest = NonNullable<Parameters<CSINode['nodePublishVolume']>[0]>;
type Capability = NonNullable<PublishRequest['volumeCapability']>;
type AccessMode = Required<NonNullable<Capability['accessMode']>>['mode'];
type StageRequest = NonNullable<Parameters<CSINode['nodeStageVolume']>[0]>;

/** Capabilities of a driver by name, such as `STAGE_UNSTAGE_VOLUME`. */
export type Capabilities = ReadonlySet<string>;

export interface MountRequest {
  spec: CSIVolumeSpec;
  capabilities: Capabilities;
  /** Folder of the staged volume. Undefined if the driver stages none. */
  stagingPath: string | undefined;
  secrets: Readonly<Record<string, string>>;
}

/** kubelet: pkg/volume/csi/csi_client.go nodeStageVolumeV1 */
export function generateStageRequest({ spec, capabilities, stagingPath = '', secrets }: MountRequest): StageRequest {
  return {
    volumeId: spec.volumeHandle,
    stagingTargetPath: stagingPath,
    volumeCapability: volumeCapability(spec, capabilities),
    secrets: { ...secrets },
    volumeContext: { ...spec.attributes },
  };
}

/** kubelet: pkg/volume/csi/csi_client.go nodePublishVolumeV1 */
export function generatePublishRequest(
  { spec, capabilities, stagingPath = '', secrets }: MountRequest,
  targetPath: string,
  driver: CSIDriver | undefined,
): PublishRequest {
  const podInfo = driver?.podInfoOnMount === true ? podInfoAttributes(spec) : {};
  return {
    volumeId: spec.volumeHandle,
    targetPath,
    stagingTargetPath: stagingPath,
    readonly: spec.readOnly,
    volumeCapability: volumeCapability(spec, capabilities),
    secrets: { ...secrets },
    volumeContext: { ...spec.attributes, ...podInfo },
  };
}

/** kubelet: pkg/volume/csi/csi_util.go getPodInfoAttrs */
function podInfoAttributes({ pod: { metadata, spec }, lifecycle }: CSIVolumeSpec): Record<string, string> {
  return {
    'csi.storage.k8s.io/pod.name': metadata.name,
    'csi.storage.k8s.io/pod.namespace': metadata.namespace,
    'csi.storage.k8s.io/pod.uid': metadata.uid,
    'csi.storage.k8s.io/serviceAccount.name': spec.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(lifecycle === 'Ephemeral'),
  };
}

function volumeCapability(
  { pod, accessModes, fsType, mountOptions }: CSIVolumeSpec,
  capabilities: Capabilities,
): Capability {
  const { fsGroup } = pod.spec.securityContext ?? {};
  const group = fsGroup !== undefined && capabilities.has('VOLUME_MOUNT_GROUP') ? String(fsGroup) : '';
  const mode = csiAccessMode(accessModes[0] ?? 'ReadWriteOnce', capabilities.has('SINGLE_NODE_MULTI_WRITER'));
  return { mount: { fsType, mountFlags: [...mountOptions], volumeMountGroup: group }, accessMode: { mode } };
}

/** kubelet: csi_client.go asCSIAccessModeV1, asSingleNodeMultiWriterCapableCSIAccessModeV1 */
function csiAccessMode(mode: string, knowsSingleNodeMultiWriter: boolean): AccessMode {
  switch (mode) {
    case 'ReadWriteOnce':
      return knowsSingleNodeMultiWriter ? 'SINGLE_NODE_MULTI_WRITER' : 'SINGLE_NODE_WRITER';
    case 'ReadWriteOncePod':
      return knowsSingleNodeMultiWriter ? 'SINGLE_NODE_SINGLE_WRITER' : 'SINGLE_NODE_WRITER';
    case 'ReadOnlyMany':
      return 'MULTI_NODE_READER_ONLY';
    case 'ReadWriteMany':
      return 'MULTI_NODE_MULTI_WRITER';
    default:
      return 'UNKNOWN';
  }
}

/**
 * True if we must give the files of the volume to the pod's fsGroup. A driver with VOLUME_MOUNT_GROUP does it itself.
 * kubelet: pkg/volume/csi/csi_mounter.go supportsFSGroup
 */
export function shouldChangeOwnership(spec: CSIVolumeSpec, capabilities: Capabilities, driver: CSIDriver | undefined) {
  const policy = driver?.fsGroupPolicy ?? 'ReadWriteOnceWithFSType';
  if (fsGroupOf(spec.pod) === undefined || spec.readOnly || policy === 'None') return false;
  if (capabilities.has('VOLUME_MOUNT_GROUP')) return false;
  if (policy === 'File') return true;
  if (spec.fsType === '') return false;
  return spec.accessModes.some((mode) => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod');
}

const fsGroupOf = ({ spec }: Pod): number | undefined => spec.securityContext?.fsGroup;

/**
 * Returns why the driver does not support a volume with this lifecycle. Returns undefined if it does. csi_mounter.go
 * supportsVolumeLifecycleMode
 */
export function unsupportedLifecycle({ lifecycle, driver: name }: CSIVolumeSpec, driver: CSIDriver | undefined) {
  const failed = 'kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode:';
  if (driver === undefined) {
    if (lifecycle === 'Persistent') return undefined;
    return `${failed} volume mode "${lifecycle}" not supported by driver ${name} (no CSIDriver object)`;
  }
  const { volumeLifecycleModes: modes } = driver;
  if (modes.includes(lifecycle)) return undefined;
  const only = `[${modes.map((mode) => JSON.stringify(mode)).join(' ')}]`;
  return `${failed} volume mode "${lifecycle}" not supported by driver ${name} (only supports ${only})`;
}
