import { defaultFeatureGates, type FeatureGateName, type FeatureGates } from '../values/feature-gates.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import type { Pod } from '../types.ts';
import { unmountableVolumes } from '../values/unmountable-volumes.ts';

/** A warning about one field, before its line is known. */
export type FieldWarning = Pick<ManifestProblem, 'message' | 'severity'> & { field: string };

/** Warns about every field of a valid pod that this program does not support yet. */
export function unsupportedFields(pod: Pick<Pod, 'spec'>, gates: FeatureGates = defaultFeatureGates): FieldWarning[] {
  const warnings: FieldWarning[] = [];
  for (const { steps, message, gate } of unsupportedPaths) {
    if (gate !== undefined && gates[gate]) continue;
    collectFields(pod.spec, steps, 0, 'spec', (field) => warnings.push({ field, message, severity: 'warning' }));
  }
  return warnings;
}

const unsupported = 'not supported yet: the pod will not start';

/** `gate` is the feature gate that enables the field. */
type Row = readonly [path: string, reason: string, gate?: FeatureGateName];

/**
 * One row for each field of the pod's spec; `[]` stands for every item of a list. Delete a row when its field works.
 */
const podFields: readonly Row[] = [
  ['resourceClaims', 'resource claims need an API server'],
  ['resources', 'needs the feature gate PodLevelResources: the pod will not start', 'PodLevelResources'],
  ['volumes[].projected.sources[].podCertificate', 'needs an API server: the pod will not start'],
  ['volumes[].projected.sources[].serviceAccountToken', 'needs an API server: the pod will not start'],
  ...Object.entries(unmountableVolumes).map(([kind, reason]): Row => [
    `volumes[].${kind}`,
    `${reason}: the pod will not start`,
  ]),
];

/** One row for each field of a container or an init container. */
const containerFields: readonly Row[] = [
  ['lifecycle.stopSignal', 'ignored without the feature gate ContainerStopSignals', 'ContainerStopSignals'],
  ['volumeDevices[]', unsupported],
];

/** The rows as steps from the spec to the field. */
const unsupportedPaths = [
  ...podFields,
  ...['containers', 'initContainers'].flatMap((list) =>
    containerFields.map(([path, ...rest]): Row => [`${list}[].${path}`, ...rest]),
  ),
].map(([path, message, gate]) => ({ steps: path.match(/[^.[\]]+|\[\]/g) ?? [], message, gate }));

/** Calls `found` with the path of every field below `value` that the steps from `index` on reach. */
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
