import type { VolumeProjection } from 'kubernetes-types/core/v1.js';
import type { Pod, ResourceList, Volume } from '../../api/types.ts';
import { type ByKind, byKind } from '../../api/values/by-kind.ts';
import { UserError } from '../../errors.ts';
import type { ConfigObjectLookup } from '../../api/values/config-object.ts';
import { configPayload } from './config-payload.ts';
import { downwardPayload } from './downward-payload.ts';
import type { FileProjection, Payload } from './payload.ts';

/** Sources of volume files besides the manifest. */
export interface PayloadSources {
  configObjects: ConfigObjectLookup;
  /** Resources that pods may use. */
  allocatable: ResourceList;
}

/**
 * The current files of a configMap, secret, downwardAPI or projected volume. A later source replaces files of an
 * earlier one. Throws a `UserError` with the kubelet's event text that names every missing, non-optional part. kubelet:
 * pkg/volume/projected collectData
 */
export function volumePayload(pod: Pod, volume: Volume, sources: PayloadSources): Payload {
  const payload = new Map<string, FileProjection>();
  const missing = new Set<string>();
  const { projections = [], defaultMode = 0o644 } = byKind(volume, payloadKinds) ?? {};
  for (const projection of projections) {
    try {
      const files = byKind(projection, projectionKinds, { pod, defaultMode, sources }) ?? [];
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

type PayloadKind = 'configMap' | 'downwardAPI' | 'projected' | 'secret';

/** Every kind of volume made of files, as the sources of a projected volume. */
const payloadKinds: ByKind<
  Pick<Volume, PayloadKind>,
  [],
  { projections?: VolumeProjection[] | undefined; defaultMode?: number | undefined }
> = {
  configMap: (configMap) => ({ projections: [{ configMap }], defaultMode: configMap.defaultMode }),
  downwardAPI: (downwardAPI) => ({ projections: [{ downwardAPI }], defaultMode: downwardAPI.defaultMode }),
  projected: ({ sources, defaultMode }) => ({ projections: sources, defaultMode }),
  secret: ({ secretName = '', defaultMode, ...rest }) => ({
    projections: [{ secret: { ...rest, name: secretName } }],
    defaultMode,
  }),
};

interface ProjectionRequest {
  pod: Pod;
  defaultMode: number;
  sources: PayloadSources;
}

/** One row a kind of source. */
const projectionKinds: ByKind<VolumeProjection, [ProjectionRequest], Payload> = {
  configMap: (source, { pod, defaultMode, sources: { configObjects } }) =>
    configPayload('ConfigMap', pod.metadata.namespace, source, defaultMode, configObjects),
  secret: (source, { pod, defaultMode, sources: { configObjects } }) =>
    configPayload('Secret', pod.metadata.namespace, source, defaultMode, configObjects),
  serviceAccountToken: () => {
    throw new UserError('failed to fetch token: there is no API server');
  },
  clusterTrustBundle: () => {
    throw new UserError('clusterTrustBundle: needs an API server');
  },
  downwardAPI: ({ items = [] }, { pod, defaultMode, sources: { allocatable } }) =>
    downwardPayload({ pod, items, defaultMode, allocatable }),
};

/** Lets the volume's group read every file. kubelet: pkg/volume/volume_linux.go changeFilePermission */
function withGroupBits({ spec }: Pod, { data, mode }: FileProjection): FileProjection {
  return { data, mode: spec.securityContext?.fsGroup === undefined ? mode : mode | 0o440 };
}
