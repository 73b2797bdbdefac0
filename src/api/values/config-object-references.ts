import { configObjectKey } from './config-object.ts';
import type { Pod } from '../types.ts';

/** One place in a pod that names another object. */
export interface ObjectReference {
  kind: 'ConfigMap' | 'Secret' | 'PersistentVolumeClaim' | 'CSIDriver' | 'RuntimeClass' | 'PriorityClass';
  name: string;
  /** Such as `Secret/default/registry`, by `configObjectKey`. */
  key: string;
  field: string;
  /** True if the pod also starts without it. */
  isOptional: boolean;
}

/**
 * Keys of the ConfigMaps and Secrets that a pod uses in variables, volumes and imagePullSecrets, of its classes, and of
 * its claims and CSI drivers, without repeats.
 */
export function configObjectReferences(pod: Pod): string[] {
  return [...new Set(objectReferences(pod).map(({ key }) => key))];
}

/** The same with their places, each place once. */
export function objectReferences({ metadata: { namespace }, spec }: Pod): ObjectReference[] {
  const found: ObjectReference[] = [];
  const add = (
    kind: ObjectReference['kind'],
    named: { name?: string | undefined; optional?: boolean | undefined } | undefined,
    field: string,
  ): void => {
    const { name, optional = false } = named ?? {};
    if (name === undefined || name === '') return;
    const isOfNamespace = kind === 'ConfigMap' || kind === 'Secret' || kind === 'PersistentVolumeClaim';
    const key = isOfNamespace ? configObjectKey({ kind, namespace, name }) : configObjectKey({ kind, name });
    found.push({ kind, name, key, field, isOptional: optional });
  };
  for (const list of ['initContainers', 'containers'] as const) {
    for (const [index, { env = [], envFrom = [] }] of (spec[list] ?? []).entries()) {
      const container = `spec.${list}[${index}]`;
      for (const [at, { configMapRef, secretRef }] of envFrom.entries()) {
        add('ConfigMap', configMapRef, `${container}.envFrom[${at}].configMapRef.name`);
        add('Secret', secretRef, `${container}.envFrom[${at}].secretRef.name`);
      }
      for (const [at, { valueFrom: { configMapKeyRef, secretKeyRef } = {} }] of env.entries()) {
        add('ConfigMap', configMapKeyRef, `${container}.env[${at}].valueFrom.configMapKeyRef.name`);
        add('Secret', secretKeyRef, `${container}.env[${at}].valueFrom.secretKeyRef.name`);
      }
    }
  }
  for (const [index, { configMap, secret, projected, csi, persistentVolumeClaim }] of (spec.volumes ?? []).entries()) {
    const volume = `spec.volumes[${index}]`;
    add('ConfigMap', configMap, `${volume}.configMap.name`);
    add('Secret', secret && { name: secret.secretName, optional: secret.optional }, `${volume}.secret.secretName`);
    for (const [at, source] of (projected?.sources ?? []).entries()) {
      add('ConfigMap', source.configMap, `${volume}.projected.sources[${at}].configMap.name`);
      add('Secret', source.secret, `${volume}.projected.sources[${at}].secret.name`);
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
