import { type ConfigData, configObjectKey } from './config-object.ts';
import type { Pod } from '../types.ts';

/**
 * Keys of the ConfigMaps and Secrets that a pod uses in variables, volumes and imagePullSecrets, of its classes, and of
 * its claims and CSI drivers, without repeats.
 */
export function configObjectReferences({ metadata: { namespace }, spec }: Pod): string[] {
  const references: [kind: ConfigData['kind'], name: string | undefined][] = [];
  for (const { env = [], envFrom = [] } of [...(spec.initContainers ?? []), ...spec.containers]) {
    for (const { configMapRef, secretRef } of envFrom) {
      if (configMapRef) references.push(['ConfigMap', configMapRef.name]);
      if (secretRef) references.push(['Secret', secretRef.name]);
    }
    for (const { valueFrom: { configMapKeyRef, secretKeyRef } = {} } of env) {
      if (configMapKeyRef) references.push(['ConfigMap', configMapKeyRef.name]);
      if (secretKeyRef) references.push(['Secret', secretKeyRef.name]);
    }
  }
  for (const { configMap, secret, projected } of spec.volumes ?? []) {
    if (configMap) references.push(['ConfigMap', configMap.name]);
    if (secret) references.push(['Secret', secret.secretName]);
    for (const source of projected?.sources ?? []) {
      if (source.configMap) references.push(['ConfigMap', source.configMap.name]);
      if (source.secret) references.push(['Secret', source.secret.name]);
    }
  }
  for (const { csi } of spec.volumes ?? []) {
    if (csi?.nodePublishSecretRef) references.push(['Secret', csi.nodePublishSecretRef.name]);
  }
  for (const { name } of spec.imagePullSecrets ?? []) references.push(['Secret', name]);
  const keys = references.flatMap(([kind, name]) =>
    name === undefined ? [] : [configObjectKey({ kind, namespace, name })],
  );
  for (const { persistentVolumeClaim, csi } of spec.volumes ?? []) {
    const name = persistentVolumeClaim?.claimName;
    if (name !== undefined) keys.push(configObjectKey({ kind: 'PersistentVolumeClaim', namespace, name }));
    if (csi) keys.push(configObjectKey({ kind: 'CSIDriver', name: csi.driver }));
  }
  const { runtimeClassName = '', priorityClassName = '' } = spec;
  if (runtimeClassName !== '') keys.push(configObjectKey({ kind: 'RuntimeClass', name: runtimeClassName }));
  if (priorityClassName !== '') keys.push(configObjectKey({ kind: 'PriorityClass', name: priorityClassName }));
  return [...new Set(keys)];
}
