import { formatMap, metadataFieldValue } from '../../../src/api/values/field-ref.ts';
import type { Pod } from '../../../src/api/types.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  metadata?: Partial<Pod['metadata']>;
  fieldPath?: string;
  map?: Record<string, string>;
}

export const downwardAPIValues = tableAdapter<In>('downward-api-values', ({ fieldPath = '', map, metadata = {} }) => {
  const value = map ? formatMap(map) : metadataFieldValue(metadata, fieldPath);
  return value === undefined ? { ok: false } : { ok: true, value };
});
