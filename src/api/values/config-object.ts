/** A ConfigMap or a Secret from a manifest. */
export interface ConfigObject {
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

/** Unique key of an object, such as `Secret/default/registry`. */
export function configObjectKey({ kind, namespace, name }: Pick<ConfigObject, 'kind' | 'namespace' | 'name'>): string {
  return `${kind}/${namespace}/${name}`;
}

/** Looks up the ConfigMaps and Secrets of pods. */
export interface ConfigObjectLookup {
  /** Returns undefined if no manifest declares it. */
  get(kind: ConfigObject['kind'], namespace: string, name: string): ConfigObject | undefined;
}
