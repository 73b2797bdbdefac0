import type { ManifestProblem } from './manifest-problem.ts';
import type { Pod } from './types.ts';
import { unmountableVolumes } from './unmountable-volumes.ts';

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

/** One row a field of the pod's spec; `[]` stands for every item of a list. Take a row out when its field works. */
const podFields: readonly (readonly [path: string, reason: string])[] = [
  ['ephemeralContainers', ignored],
  ['resourceClaims', 'resource claims need an API server'],
  ['runtimeClassName', 'runtime classes need an API server: the default runtime is used'],
  ['imagePullSecrets', 'ignored yet: images are pulled without credentials'],
  ['resources', 'resources of the whole pod are ignored'],
  ['volumes[].projected.sources[].serviceAccountToken', 'needs an API server: the pod will not start'],
  ...Object.entries(unmountableVolumes).map(
    ([kind, reason]) => [`volumes[].${kind}`, `${reason}: the pod will not start`] as const,
  ),
];

/** One row a field of a container or an init container. */
const containerFields: readonly (readonly [path: string, reason: string])[] = [
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
