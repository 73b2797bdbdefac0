import { configObjectKey } from './config-object.ts';
import type { Pod } from '../types.ts';

/** One position in a pod that names another object. */
export interface ObjectReference {
  kind: 'ConfigMap' | 'Secret' | 'PersistentVolumeClaim' | 'CSIDriver' | 'RuntimeClass' | 'PriorityClass';
  name: string;
  /** Such as `Secret/default/registry`, by `configObjectKey`. */
  key: string;
  field: string;
  /** True if the pod can start without it. */
  isOptional: boolean;
  /** The keys that it must have for the pod to start. */
  keys: readonly string[];
}

/**
 * Keys of all objects that a pod uses: ConfigMaps and Secrets in variables, volumes and imagePullSecrets, its classes,
 * claims and CSI drivers. Each key once.
 */
export function configObjectReferences(pod: Pod): string[] {
  return [...new Set(objectReferences(pod).map(({ key }) => key))];
}

/** Like `configObjectReferences`, with their positions. Each position once. */
export function objectReferences({ metadata: { namespace }, spec }: Pod): ObjectReference[] {
  const found: ObjectReference[] = [];
  const add = (
    kind: ObjectReference['kind'],
    named: { name?: string | undefined; optional?: boolean | undefined } | undefined,
    field: string,
    keys: readonly string[] = [],
  ): void => {
    const { name, optional = false } = named ?? {};
    if (name === undefined || name === '') return;
    const isOfNamespace = kind === 'ConfigMap' || kind === 'Secret' || kind === 'PersistentVolumeClaim';
    const key = isOfNamespace ? configObjectKey({ kind, namespace, name }) : configObjectKey({ kind, name });
    found.push({ kind, name, key, field, isOptional: optional, keys: optional ? [] : keys });
  };
  for (const list of ['initContainers', 'containers'] as const) {
    for (const [index, { env = [], envFrom = [] }] of (spec[list] ?? []).entries()) {
      const container = `spec.${list}[${index}]`;
      for (const [at, { configMapRef, secretRef }] of envFrom.entries()) {
        add('ConfigMap', configMapRef, `${container}.envFrom[${at}].configMapRef.name`);
        add('Secret', secretRef, `${container}.envFrom[${at}].secretRef.name`);
      }
      for (const [at, { valueFrom: { configMapKeyRef, secretKeyRef } = {} }] of env.entries()) {
        const valueFrom = `${container}.env[${at}].valueFrom`;
        add('ConfigMap', configMapKeyRef, `${valueFrom}.configMapKeyRef.name`, keysOf([configMapKeyRef]));
        add('Secret', secretKeyRef, `${valueFrom}.secretKeyRef.name`, keysOf([secretKeyRef]));
      }
    }
  }
  for (const [index, { configMap, secret, projected, csi, persistentVolumeClaim }] of (spec.volumes ?? []).entries()) {
    const volume = `spec.volumes[${index}]`;
    add('ConfigMap', configMap, `${volume}.configMap.name`, keysOf(configMap?.items));
    const namedSecret = secret && { name: secret.secretName, optional: secret.optional };
    add('Secret', namedSecret, `${volume}.secret.secretName`, keysOf(secret?.items));
    for (const [at, source] of (projected?.sources ?? []).entries()) {
      const projection = `${volume}.projected.sources[${at}]`;
      add('ConfigMap', source.configMap, `${projection}.configMap.name`, keysOf(source.configMap?.items));
      add('Secret', source.secret, `${projection}.secret.name`, keysOf(source.secret?.items));
    }
    add('Secret', csi?.nodePublishSecretRef, `${volume}.csi.nodePublishSecretRef.name`);
    const { claimName } = persistentVolumeClaim ?? {};
    add('PersistentVolumeClaim', { name: claimName }, `${volume}.persistentVolumeClaim.claimName`);
    add('CSIDriver', { name: csi?.driver }, `${volume}.csi.driver`);
  }
  for (const [index, secret] of (spec.imagePullSecrets ?? []).entries()) {
    add('Secret', secret, `spec.imagePullSecrets[${index}].name`);
  }
  add('RuntimeClass', { name: spec.runtimeClassName }, 'spec.runtimeClassName');
  add('PriorityClass', { name: spec.priorityClassName }, 'spec.priorityClassName');
  return found;
}

const keysOf = (items: readonly ({ key: string } | undefined)[] = []): string[] =>
  items.flatMap((item) => (item === undefined ? [] : [item.key]));
