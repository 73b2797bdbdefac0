import { isDeepStrictEqual } from 'node:util';
import { type ConfigData, type ConfigObject, configObjectKey, isConfigData } from '../../api/values/config-object.ts';
import { configObjectReferences } from '../../api/values/config-object-references.ts';
import type { Container, Pod, Volume } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';

/** The planned change of a ConfigMap, Secret, class or storage object. Never contains a value. */
export interface ConfigObjectChange {
  action: 'add' | 'remove' | 'change';
  kind: ConfigObject['kind'];
  /** Absent for an object without a namespace. */
  namespace?: string;
  name: string;
  /** Keys of the data; fields of other objects. */
  keys: Record<string, 'added' | 'removed' | 'changed'>;
  /** The effects on pods that keep running. */
  effects: ConfigObjectEffect[];
}

export interface ConfigObjectEffect {
  /** `namespace/name` */
  pod: string;
  /** Files of a volume change while its containers run. Variables and subPath mounts change only on a restart. */
  effect: 'updated live' | 'needs a restart';
  /** The affected use, such as `volume config` or `env of container app`. */
  what: string;
}

/** The changed objects, and the effects on `running` pods. */
export function computeConfigObjectChanges(
  current: readonly ConfigObject[],
  desired: readonly ConfigObject[],
  running: readonly Pod[],
): ConfigObjectChange[] {
  const before = new Map(current.map((object) => [configObjectKey(object), object]));
  const after = new Map(desired.map((object) => [configObjectKey(object), object]));
  return [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((key): ConfigObjectChange[] => {
    const object = after.get(key) ?? before.get(key);
    const keys = changedKeys(before.get(key), after.get(key));
    const action = !before.has(key) ? 'add' : after.has(key) ? 'change' : 'remove';
    if (object === undefined || (action === 'change' && Object.keys(keys).length === 0)) return [];
    const { kind, name } = object;
    // Running pods keep the values of their classes, and their claims.
    if (!isConfigData(object)) {
      const place = 'namespace' in object ? { namespace: object.namespace } : {};
      return [{ action, kind, ...place, name, keys, effects: [] }];
    }
    const { namespace } = object;
    const users = running.filter((pod) => configObjectReferences(pod).includes(key));
    return [{ action, kind, namespace, name, keys, effects: users.flatMap((pod) => effectsOn(pod, object, keys)) }];
  });
}

function changedKeys(before: ConfigObject | undefined, after: ConfigObject | undefined): ConfigObjectChange['keys'] {
  const [old, now] = [valuesOf(before), valuesOf(after)];
  const changes = [...new Set([...old.keys(), ...now.keys()])].sort().flatMap((key) => {
    if (isDeepStrictEqual(old.get(key), now.get(key))) return [];
    return [[key, !old.has(key) ? 'added' : now.has(key) ? 'changed' : 'removed'] as const];
  });
  return Object.fromEntries(changes);
}

function valuesOf(object: ConfigObject | undefined): Map<string, string> {
  if (object !== undefined && !isConfigData(object)) {
    const fields = Object.entries(object).filter(([field]) => !['kind', 'namespace', 'name'].includes(field));
    return new Map(fields.map(([field, value]) => [field, JSON.stringify(value)]));
  }
  const values = [...(object?.data ?? []), ...(object?.binaryData ?? [])];
  return new Map(values.map(([key, value]) => [key, Buffer.from(value).toString('base64')]));
}

function effectsOn(pod: Pod, object: ConfigData, keys: ConfigObjectChange['keys']): ConfigObjectEffect[] {
  const { metadata, spec } = pod;
  const containers = initAndRegularContainers(spec);
  const volumes = (spec.volumes ?? []).filter((volume) => isCopyOf(volume, object)).map(({ name }) => name);
  const on = (effect: ConfigObjectEffect['effect'], what: string): ConfigObjectEffect => ({
    pod: `${metadata.namespace}/${metadata.name}`,
    effect,
    what,
  });
  return [
    ...volumes.map((name) => on('updated live', `volume ${name}`)),
    ...containers.flatMap((container) => [
      ...(mountsSingleFile(container, volumes)
        ? [on('needs a restart', `subPath mount of container ${container.name}`)]
        : []),
      ...(readsVariables(container, object, keys) ? [on('needs a restart', `env of container ${container.name}`)] : []),
    ]),
  ];
}

function isCopyOf({ configMap, secret, projected }: Volume, { kind, name }: ConfigData): boolean {
  const sources = projected?.sources ?? [];
  return kind === 'ConfigMap'
    ? configMap?.name === name || sources.some((source) => source.configMap?.name === name)
    : secret?.secretName === name || sources.some((source) => source.secret?.name === name);
}

function mountsSingleFile({ volumeMounts = [] }: Container, volumes: readonly string[]): boolean {
  return volumeMounts.some(
    ({ name, subPath = '', subPathExpr = '' }) => volumes.includes(name) && subPath + subPathExpr !== '',
  );
}

function readsVariables(
  { env = [], envFrom = [] }: Container,
  { kind, name }: ConfigData,
  keys: ConfigObjectChange['keys'],
): boolean {
  const isConfigMap = kind === 'ConfigMap';
  return (
    envFrom.some(({ configMapRef, secretRef }) => (isConfigMap ? configMapRef : secretRef)?.name === name) ||
    env.some(({ valueFrom: { configMapKeyRef, secretKeyRef } = {} }) => {
      const reference = isConfigMap ? configMapKeyRef : secretKeyRef;
      return reference?.name === name && reference.key in keys;
    })
  );
}
