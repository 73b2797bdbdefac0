import type { DownwardAPIVolumeFile } from 'kubernetes-types/core/v1.js';
import { metadataFieldValue } from '../../api/values/field-ref.ts';
import type { Pod, ResourceList } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { containerResourceValue } from '../../api/values/downward-api.ts';
import type { Payload } from './payload.ts';

/** Input of a downward API volume. `allocatable` replaces missing limits of a container. */
interface DownwardProjection {
  pod: Pod;
  items: readonly DownwardAPIVolumeFile[];
  defaultMode: number;
  allocatable: ResourceList;
}

/** The files of the downward API. Throws if a reference is broken. kubelet: pkg/volume/downwardapi CollectData */
export function downwardPayload({ pod, items, defaultMode, allocatable }: DownwardProjection): Payload {
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
