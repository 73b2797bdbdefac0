import type { VolumeProjection, ConfigMapProjection, DownwardAPIVolumeFile } from 'kubernetes-types/core/v1.js';
import type { Pod, ResourceList, Volume } from '../../api/types.ts';
import { type ByKind, byKind } from '../../api/values/by-kind.ts';
import { UserError } from '../../errors.ts';
import type { ConfigObjectLookup, ConfigData } from '../../api/values/config-object.ts';
import type { FileProjection, VolumeContent } from './volume-content.ts';
import { metadataFieldValue } from '../../api/values/field-ref.ts';
import { containerResourceValue } from '../../api/values/downward-api.ts';

/** Sources of volume content other than the manifest. */
export interface ContentSources {
  configObjects: ConfigObjectLookup;
  /** Resources that pods may use. */
  allocatable: ResourceList;
}

/**
 * The current files of a configMap, secret, downwardAPI or projected volume. Files of a later source replace those of
 * an earlier one. Throws a `UserError` with the kubelet's event text, which lists every missing required part. kubelet:
 * pkg/volume/projected collectData
 */
export function volumeContent(pod: Pod, volume: Volume, sources: ContentSources): VolumeContent {
  const content = new Map<string, FileProjection>();
  const missing = new Set<string>();
  const { projections = [], defaultMode = 0o644 } = byKind(volume, contentKinds) ?? {};
  for (const projection of projections) {
    try {
      const files = byKind(projection, projectionKinds, { pod, defaultMode, sources }) ?? [];
      for (const [path, file] of files) content.set(path, withGroupBits(pod, file));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      missing.add(error.message);
    }
  }
  const [first, ...others] = missing;
  if (first !== undefined) throw new UserError(others.length === 0 ? first : `[${[...missing].join(', ')}]`);
  return content;
}

type ContentKind = 'configMap' | 'downwardAPI' | 'projected' | 'secret';

/** Every kind of volume that consists of files, expressed as sources of a projected volume. */
const contentKinds: ByKind<
  Pick<Volume, ContentKind>,
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
  sources: ContentSources;
}

/** One row per kind of source. */
const projectionKinds: ByKind<VolumeProjection, [ProjectionRequest], VolumeContent> = {
  configMap: (source, { pod, defaultMode, sources: { configObjects } }) =>
    configContent('ConfigMap', pod.metadata.namespace, source, defaultMode, configObjects),
  secret: (source, { pod, defaultMode, sources: { configObjects } }) =>
    configContent('Secret', pod.metadata.namespace, source, defaultMode, configObjects),
  serviceAccountToken: () => {
    throw new UserError('failed to fetch token: there is no API server');
  },
  clusterTrustBundle: () => {
    throw new UserError('clusterTrustBundle: needs an API server');
  },
  podCertificate: () => {
    throw new UserError('podCertificate: needs an API server');
  },
  downwardAPI: ({ items = [] }, { pod, defaultMode, sources: { allocatable } }) =>
    downwardContent({ pod, items, defaultMode, allocatable }),
};

/** Lets the volume's group read every file. kubelet: pkg/volume/volume_linux.go changeFilePermission */
function withGroupBits({ spec }: Pod, { data, mode }: FileProjection): FileProjection {
  return { data, mode: spec.securityContext?.fsGroup === undefined ? mode : mode | 0o440 };
}

/**
 * The files of a ConfigMap or Secret volume: those in `items`, or one per key. Throws a `UserError` if a required
 * object or key is missing. kubelet: pkg/volume/configmap/configmap.go MakePayload, pkg/volume/secret/secret.go
 * MakePayload
 */
function configContent(
  kind: ConfigData['kind'],
  namespace: string,
  { name = '', items = [], optional = false }: ConfigMapProjection,
  defaultMode: number,
  configObjects: ConfigObjectLookup,
): VolumeContent {
  const object = configObjects.get(kind, namespace, name);
  if (object === undefined && !optional) throw new UserError(`${kind.toLowerCase()} "${name}" not found`);
  const values = new Map([...(object?.binaryData ?? []), ...(object?.data ?? [])]);
  if (items.length === 0) return new Map([...values].map(([key, data]) => [key, { data, mode: defaultMode }]));
  const content = new Map<string, FileProjection>();
  for (const { key, path, mode = defaultMode } of items) {
    const data = values.get(key);
    if (data !== undefined) content.set(path, { data, mode });
    else if (!optional) throw new UserError(missingKey(kind, key));
  }
  return content;
}

function missingKey(kind: ConfigData['kind'], key: string): string {
  return kind === 'ConfigMap'
    ? `configmap references non-existent config key: ${key}`
    : `references non-existent secret key: ${key}`;
}

/** Input of a downward API volume. `allocatable` replaces missing limits of a container. */
interface DownwardProjection {
  pod: Pod;
  items: readonly DownwardAPIVolumeFile[];
  defaultMode: number;
  allocatable: ResourceList;
}

/** The files of the downward API. Throws if a reference is broken. kubelet: pkg/volume/downwardapi CollectData */
function downwardContent({ pod, items, defaultMode, allocatable }: DownwardProjection): VolumeContent {
  return new Map(
    items.map((item) => {
      const data = Buffer.from(fileContent(pod, item, allocatable));
      return [item.path, { data, mode: item.mode ?? defaultMode }];
    }),
  );
}

function fileContent(
  pod: Pod,
  { path, fieldRef, resourceFieldRef }: DownwardAPIVolumeFile,
  allocatable: ResourceList,
): string {
  if (resourceFieldRef) return containerResourceValue(pod, {}, resourceFieldRef, { allocatable }, `file "${path}"`);
  const fieldPath = fieldRef?.fieldPath ?? '';
  const value = metadataFieldValue(pod.metadata, fieldPath);
  if (value === undefined) throw new UserError(`file "${path}": unsupported fieldPath: ${fieldPath}`);
  return value;
}
