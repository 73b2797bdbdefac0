import type { VolumeProjection } from 'kubernetes-types/core/v1.js';
import type { Pod, ResourceList, Volume } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import type { ConfigObjectLookup } from '../../api/values/config-object.ts';
import { configPayload } from './config-payload.ts';
import { downwardPayload } from './downward-payload.ts';
import type { FileProjection, Payload } from './payload.ts';

/** What the files of volumes are made from besides the manifest. */
export interface PayloadSources {
  configObjects: ConfigObjectLookup;
  /** What the node gives to pods. */
  allocatable: ResourceList;
}

/**
 * The files of a configMap, secret, downwardAPI or projected volume as they should be now. A later source overwrites what
 * an earlier one has at the same path. Throws a `UserError`, in the words of the kubelet's event, that names everything
 * that is missing and not optional. kubelet: pkg/volume/projected collectData
 */
export function volumePayload(pod: Pod, volume: Volume, sources: PayloadSources): Payload {
  const payload = new Map<string, FileProjection>();
  const missing = new Set<string>();
  const { projections, defaultMode = 0o644 } = projectionsOf(volume);
  for (const projection of projections) {
    try {
      const files = projectionPayload(pod, projection, defaultMode, sources);
      for (const [path, file] of files) payload.set(path, withGroupBits(pod, file));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      missing.add(error.message);
    }
  }
  const [first, ...others] = missing;
  if (first !== undefined) throw new UserError(others.length === 0 ? first : `[${[...missing].join(', ')}]`);
  return payload;
}

/** Every kind of volume that is made of files, as the sources of a projected one. */
function projectionsOf({ configMap, secret, downwardAPI, projected }: Volume): {
  projections: VolumeProjection[];
  defaultMode: number | undefined;
} {
  if (configMap) return { projections: [{ configMap }], defaultMode: configMap.defaultMode };
  if (secret) {
    const { secretName = '', defaultMode, ...rest } = secret;
    return { projections: [{ secret: { ...rest, name: secretName } }], defaultMode };
  }
  if (downwardAPI) return { projections: [{ downwardAPI }], defaultMode: downwardAPI.defaultMode };
  return { projections: projected?.sources ?? [], defaultMode: projected?.defaultMode };
}

function projectionPayload(
  pod: Pod,
  { configMap, secret, downwardAPI, serviceAccountToken }: VolumeProjection,
  defaultMode: number,
  { configObjects, allocatable }: PayloadSources,
): Payload {
  const { namespace } = pod.metadata;
  if (configMap) return configPayload('ConfigMap', namespace, configMap, defaultMode, configObjects);
  if (secret) return configPayload('Secret', namespace, secret, defaultMode, configObjects);
  if (serviceAccountToken) throw new UserError('failed to fetch token: there is no API server');
  return downwardPayload({ pod, items: downwardAPI?.items ?? [], defaultMode, allocatable });
}

/** The group of the volume can read every file. kubelet: pkg/volume/volume_linux.go changeFilePermission */
function withGroupBits({ spec }: Pod, { data, mode }: FileProjection): FileProjection {
  return { data, mode: spec.securityContext?.fsGroup === undefined ? mode : mode | 0o440 };
}
