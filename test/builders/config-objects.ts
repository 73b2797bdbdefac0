import type { ConfigData, ConfigObject } from '../../src/api/values/config-object.ts';
import { ConfigObjects } from '../../src/engine/config-objects/config-objects.ts';

/** Values as plain text. */
type Data = Readonly<Record<string, string>>;

export function makeConfigMap(name: string, data: Data, more: Partial<ConfigData> = {}): ConfigData {
  return {
    kind: 'ConfigMap',
    namespace: 'default',
    name,
    data: new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value)])),
    binaryData: new Map(),
    type: '',
    immutable: false,
    ...more,
  };
}

export function makeSecret(name: string, data: Data, more: Partial<ConfigData> = {}): ConfigData {
  return makeConfigMap(name, data, { kind: 'Secret', type: 'Opaque', ...more });
}

/** Returns a store that contains these objects. */
export function configObjectsOf(...objects: ConfigObject[]): ConfigObjects {
  const store = new ConfigObjects();
  store.replace('test', objects);
  return store;
}
