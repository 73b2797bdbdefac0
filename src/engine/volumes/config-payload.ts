import type { ConfigMapProjection } from 'kubernetes-types/core/v1.js';
import type { ConfigData, ConfigObjectLookup } from '../../api/values/config-object.ts';
import { UserError } from '../../errors.ts';
import type { FileProjection, Payload } from './payload.ts';

/**
 * The files of a ConfigMap or Secret volume: those of `items`, or one for every key. Throws a `UserError` for a
 * missing, non-optional part. kubelet: pkg/volume/configmap/configmap.go MakePayload, pkg/volume/secret/secret.go
 * MakePayload
 */
export function configPayload(
  kind: ConfigData['kind'],
  namespace: string,
  { name = '', items = [], optional = false }: ConfigMapProjection,
  defaultMode: number,
  configObjects: ConfigObjectLookup,
): Payload {
  const object = configObjects.get(kind, namespace, name);
  if (object === undefined && !optional) throw new UserError(`${kind.toLowerCase()} "${name}" not found`);
  const values = new Map([...(object?.binaryData ?? []), ...(object?.data ?? [])]);
  if (items.length === 0) return new Map([...values].map(([key, data]) => [key, { data, mode: defaultMode }]));
  const payload = new Map<string, FileProjection>();
  for (const { key, path, mode = defaultMode } of items) {
    const data = values.get(key);
    if (data !== undefined) payload.set(path, { data, mode });
    else if (!optional) throw new UserError(missingKey(kind, key));
  }
  return payload;
}

function missingKey(kind: ConfigData['kind'], key: string): string {
  return kind === 'ConfigMap'
    ? `configmap references non-existent config key: ${key}`
    : `references non-existent secret key: ${key}`;
}
