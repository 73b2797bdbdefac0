import type { NodeClass } from './node-class.ts';
import type { StorageObject } from './persistent-volume.ts';
import type { Service, ServiceAddresses } from './service.ts';

/** An object that pods refer to, or that leads to pods. */
export type ConfigObject = ConfigData | NodeClass | StorageObject | Service | ServiceAddresses;

/** A ConfigMap or a Secret from a manifest. */
export interface ConfigData {
  kind: 'ConfigMap' | 'Secret';
  namespace: string;
  name: string;
  /** Values by key. ConfigMap: `data`. Secret: the decoded `data`, overlaid by `stringData`. */
  data: ReadonlyMap<string, Uint8Array>;
  /** `binaryData` of a ConfigMap, decoded: files of volumes, never environment variables. Empty for a Secret. */
  binaryData: ReadonlyMap<string, Uint8Array>;
  /** Type of a Secret, such as `kubernetes.io/dockerconfigjson`; `Opaque` by default. Empty for a ConfigMap. */
  type: string;
  immutable: boolean;
}

/** Unique key of an object, such as `Secret/default/registry`, or `RuntimeClass/kata` without a namespace. */
export function configObjectKey(object: NamespacedName | ClusterName): string {
  const { kind, name } = object;
  return 'namespace' in object ? `${kind}/${object.namespace}/${name}` : `${kind}/${name}`;
}

interface NamespacedName extends Pick<ConfigData, 'namespace' | 'name'> {
  kind: ConfigData['kind'] | 'PersistentVolumeClaim' | 'Service' | ServiceAddresses['kind'];
}

interface ClusterName {
  kind: Exclude<ConfigObject['kind'], NamespacedName['kind']>;
  name: string;
}

/** True if the object is a ConfigMap or a Secret. */
export function isConfigData(object: ConfigObject): object is ConfigData {
  return object.kind === 'ConfigMap' || object.kind === 'Secret';
}

/** True if the object lists addresses of a Service. */
export function isServiceAddresses(object: ConfigObject): object is ServiceAddresses {
  return object.kind === 'Endpoints' || object.kind === 'EndpointSlice';
}

/** True if the object is a RuntimeClass or a PriorityClass. */
export function isNodeClass(object: ConfigObject): object is NodeClass {
  return object.kind === 'RuntimeClass' || object.kind === 'PriorityClass';
}

/** Looks up the ConfigMaps and Secrets of pods. */
export interface ConfigObjectLookup {
  /** Returns undefined if no manifest declares it. */
  get(kind: ConfigData['kind'], namespace: string, name: string): ConfigData | undefined;
}
