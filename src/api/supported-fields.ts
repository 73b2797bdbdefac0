import type { ManifestProblem } from './manifest-problem.ts';
import type { Pod } from './types.ts';

/** A warning about one field, before anybody knows the line it stands on. */
export type FieldWarning = Pick<ManifestProblem, 'message' | 'severity'> & { field: string };

/** What a valid pod asks for and this program does not carry out yet, one warning for every field that asks for it. */
export function unsupportedFields(pod: Pick<Pod, 'spec'>): FieldWarning[] {
  return [
    ...podFields.map(([path, reason]) => ({ path: `spec.${path}`, reason })),
    ...['containers', 'initContainers'].flatMap((list) =>
      containerFields.map(([path, reason]) => ({ path: `spec.${list}[].${path}`, reason })),
    ),
  ].flatMap(({ path, reason }) =>
    findFields(pod, path).map((field) => ({ field, message: reason, severity: 'warning' as const })),
  );
}

const notCarriedOut = 'not carried out yet: the pod will not start';
const ignored = 'ignored yet';
const networkVolume = 'volumes of this kind are not supported: the pod will not start';

/** One row a field of the pod's spec; `[]` stands for every item of a list. Take a row out when its field works. */
const podFields: readonly (readonly [path: string, reason: string])[] = [
  ['ephemeralContainers', ignored],
  ['resourceClaims', 'resource claims need an API server'],
  ['runtimeClassName', 'runtime classes need an API server: the default runtime is used'],
  ['imagePullSecrets', 'ignored yet: images are pulled without credentials'],
  ['resources', 'resources of the whole pod are ignored'],
  ['volumes[].configMap', notCarriedOut],
  ['volumes[].downwardAPI', notCarriedOut],
  ['volumes[].image', notCarriedOut],
  ['volumes[].projected', notCarriedOut],
  ['volumes[].secret', notCarriedOut],
  ['volumes[].awsElasticBlockStore', networkVolume],
  ['volumes[].azureDisk', networkVolume],
  ['volumes[].azureFile', networkVolume],
  ['volumes[].cephfs', networkVolume],
  ['volumes[].cinder', networkVolume],
  ['volumes[].csi', networkVolume],
  ['volumes[].ephemeral', networkVolume],
  ['volumes[].fc', networkVolume],
  ['volumes[].flexVolume', networkVolume],
  ['volumes[].flocker', networkVolume],
  ['volumes[].gcePersistentDisk', networkVolume],
  ['volumes[].gitRepo', networkVolume],
  ['volumes[].glusterfs', networkVolume],
  ['volumes[].iscsi', networkVolume],
  ['volumes[].nfs', networkVolume],
  ['volumes[].persistentVolumeClaim', networkVolume],
  ['volumes[].photonPersistentDisk', networkVolume],
  ['volumes[].portworxVolume', networkVolume],
  ['volumes[].quobyte', networkVolume],
  ['volumes[].rbd', networkVolume],
  ['volumes[].scaleIO', networkVolume],
  ['volumes[].storageos', networkVolume],
  ['volumes[].vsphereVolume', networkVolume],
];

/** One row a field of a container or an init container. */
const containerFields: readonly (readonly [path: string, reason: string])[] = [
  ['env[].valueFrom.configMapKeyRef', notCarriedOut],
  ['env[].valueFrom.secretKeyRef', notCarriedOut],
  ['envFrom[].configMapRef', notCarriedOut],
  ['envFrom[].secretRef', notCarriedOut],
  ['lifecycle.postStart', ignored],
  ['lifecycle.preStop', ignored],
  ['livenessProbe', ignored],
  ['readinessProbe', 'ignored yet: the container counts as ready once it runs'],
  ['startupProbe', ignored],
  ['volumeDevices[]', notCarriedOut],
  ['volumeMounts[].subPath', notCarriedOut],
  ['volumeMounts[].subPathExpr', notCarriedOut],
];

/** Paths of all fields of `value` that match a pattern such as `spec.volumes[].nfs`. */
function findFields(value: unknown, pattern: string): string[] {
  let found = [{ field: '', value }];
  for (const step of pattern.match(/[^.[\]]+|\[\]/g) ?? []) {
    found = found.flatMap((parent) => (step === '[]' ? itemsOf(parent) : memberOf(parent, step)));
  }
  return found.map(({ field }) => field);
}

interface Found {
  field: string;
  value: unknown;
}

function itemsOf({ field, value }: Found): Found[] {
  return Array.isArray(value)
    ? value.map((item: unknown, index) => ({ field: `${field}[${index}]`, value: item }))
    : [];
}

function memberOf({ field, value }: Found, name: string): Found[] {
  if (typeof value !== 'object' || value === null) return [];
  const member = new Map<string, unknown>(Object.entries(value)).get(name);
  return member === undefined ? [] : [{ field: field === '' ? name : `${field}.${name}`, value: member }];
}
