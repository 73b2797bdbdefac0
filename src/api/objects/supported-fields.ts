import { defaultFeatureGates, type FeatureGateName, type FeatureGates } from '../values/feature-gates.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import type { Pod } from '../types.ts';
import { unmountableVolumes } from '../validation/unmountable-volumes.ts';

/** A warning about one field, before anybody knows the line it stands on. */
export type FieldWarning = Pick<ManifestProblem, 'message' | 'severity'> & { field: string };

/** What a valid pod asks for and this program does not carry out yet, one warning for every field that asks for it. */
export function unsupportedFields(pod: Pick<Pod, 'spec'>, gates: FeatureGates = defaultFeatureGates): FieldWarning[] {
  const warnings: FieldWarning[] = [];
  for (const { steps, message, gate } of unsupportedPaths) {
    if (gate !== undefined && gates[gate]) continue;
    collectFields(pod.spec, steps, 0, 'spec', (field) => warnings.push({ field, message, severity: 'warning' }));
  }
  return warnings;
}

const notCarriedOut = 'not carried out yet: the pod will not start';
const ignored = 'ignored yet';

/** `gate`: the feature gate with which the field is carried out. */
type Row = readonly [path: string, reason: string, gate?: FeatureGateName];

/** One row a field of the pod's spec; `[]` stands for every item of a list. Take a row out when its field works. */
const podFields: readonly Row[] = [
  ['ephemeralContainers', ignored],
  ['hostUsers', 'needs the feature gate UserNamespacesSupport: the pod will not start', 'UserNamespacesSupport'],
  ['resourceClaims', 'resource claims need an API server'],
  ['resources', 'ignored without the feature gate PodLevelResources', 'PodLevelResources'],
  ['runtimeClassName', 'runtime classes need an API server: the default runtime is used'],
  ['volumes[].projected.sources[].serviceAccountToken', 'needs an API server: the pod will not start'],
  ['volumes[].image', 'needs the feature gate ImageVolume: the pod will not start', 'ImageVolume'],
  ...Object.entries(unmountableVolumes).map(([kind, reason]): Row => [
    `volumes[].${kind}`,
    `${reason}: the pod will not start`,
  ]),
];

/** One row a field of a container or an init container. */
const containerFields: readonly Row[] = [['volumeDevices[]', notCarriedOut]];

/** The tables as the steps from the spec to the field. */
const unsupportedPaths = [
  ...podFields,
  ...['containers', 'initContainers'].flatMap((list) =>
    containerFields.map(([path, ...rest]): Row => [`${list}[].${path}`, ...rest]),
  ),
].map(([path, message, gate]) => ({ steps: path.match(/[^.[\]]+|\[\]/g) ?? [], message, gate }));

/** Calls `found` with the path of every field below `value` that the steps from `index` on lead to. */
function collectFields(
  value: unknown,
  steps: readonly string[],
  index: number,
  field: string,
  found: (field: string) => void,
): void {
  const step = steps[index];
  if (step === undefined) {
    found(field);
  } else if (step === '[]') {
    if (!Array.isArray(value)) return;
    for (const [at, item] of value.entries()) collectFields(item, steps, index + 1, `${field}[${at}]`, found);
  } else if (typeof value === 'object' && value !== null) {
    const member = (value as Readonly<Record<string, unknown>>)[step];
    if (member !== undefined) collectFields(member, steps, index + 1, `${field}.${step}`, found);
  }
}
