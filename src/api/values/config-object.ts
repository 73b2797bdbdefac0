/** A ConfigMap or a Secret that stands in a manifest beside the pods that use it. */
export interface ConfigObject {
  kind: 'ConfigMap' | 'Secret';
  namespace: string;
  name: string;
  /** Values by key: `data` of a ConfigMap; `data`, decoded, and `stringData` over it of a Secret. */
  data: ReadonlyMap<string, Uint8Array>;
  /** `binaryData` of a ConfigMap, decoded: files of volumes, never environment variables. Empty for a Secret. */
  binaryData: ReadonlyMap<string, Uint8Array>;
  /** Type of a Secret, such as `kubernetes.io/dockerconfigjson`; `Opaque` by default. Empty for a ConfigMap. */
  type: string;
  immutable: boolean;
}

/** Names an object among all objects: `Secret/default/registry`. */
export function configObjectKey({ kind, namespace, name }: Pick<ConfigObject, 'kind' | 'namespace' | 'name'>): string {
  return `${kind}/${namespace}/${name}`;
}

/** Where pods find the ConfigMaps and Secrets they refer to. */
export interface ConfigObjectLookup {
  /** Returns undefined if no manifest declares it. */
  get(kind: ConfigObject['kind'], namespace: string, name: string): ConfigObject | undefined;
}
