import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { nearestName } from '../../api/text/nearest-name.ts';
import { type ObjectReference, objectReferences } from '../../api/values/config-object-references.ts';
import { type ConfigObject, configObjectKey, isConfigData } from '../../api/values/config-object.ts';
import type { LabelledNode } from '../../api/values/node-selector.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';
import { computeBinding } from '../../engine/persistent-volumes/compute-binding.ts';

const kinds: readonly ObjectReference['kind'][] = ['ConfigMap', 'Secret', 'PersistentVolumeClaim'];

/**
 * A warning for each reference of a pod to an object that no manifest declares, to a key that the object lacks, or to a
 * claim that no volume fits. Undeclared classes are errors, which are found elsewhere. Empty if there are errors,
 * because those may hide declarations.
 */
export function undeclaredObjects(
  { where, pods, configObjects = [], classPositions = [], problems }: SourceUpdate,
  node: LabelledNode,
): ManifestProblem[] {
  if (problems.some(({ severity }) => severity === 'error')) return [];
  const declared = new Map(configObjects.map((object) => [configObjectKey(object), object]));
  return pods.flatMap((pod) => {
    const { uid, namespace } = pod.metadata;
    return objectReferences(pod)
      .filter(({ kind }) => kinds.includes(kind))
      .flatMap((reference) => {
        const { field } = reference;
        const position = classPositions.find((one) => one.podUID === uid && one.field === field);
        const { origin = where, line, column } = position ?? {};
        return problemsOf(reference, { declared, namespace, node }).map((problem): ManifestProblem => ({
          origin,
          ...(line !== undefined && { line }),
          ...(column !== undefined && { column }),
          field,
          ...problem,
          severity: 'warning',
        }));
      });
  });
}

interface Declared {
  /** The declared objects by `configObjectKey`. */
  declared: ReadonlyMap<string, ConfigObject>;
  /** Namespace of the pod. */
  namespace: string;
  node: LabelledNode;
}

type Finding = Pick<ManifestProblem, 'message' | 'hint'>;

function problemsOf(reference: ObjectReference, { declared, namespace, node }: Declared): Finding[] {
  const { kind, name, key, isOptional } = reference;
  const object = declared.get(key);
  if (object === undefined) {
    if (isOptional) return [];
    const message = `no manifest declares ${kind} ${namespace}/${name}`;
    return [{ message, hint: hintFor(reference, [...declared.keys()]) }];
  }
  if (object.kind === 'PersistentVolumeClaim') {
    const volumes = [...declared.values()].filter((one) => one.kind === 'PersistentVolume');
    const binding = computeBinding({ claim: object, volumes, holders: new Map(), hasFolder: false, node });
    if (binding.type !== 'unbound') return [];
    const message = `PersistentVolumeClaim ${namespace}/${name} stays unbound, and the pod waits: ${binding.because}`;
    return [{ message, hint: 'Declare a PersistentVolume that fits the claim, or remove its selector and class.' }];
  }
  if (!isConfigData(object)) return [];
  const known = [...object.data.keys(), ...object.binaryData.keys()];
  return reference.keys
    .filter((wanted) => !known.includes(wanted))
    .map((wanted) => {
      const near = nearestName(wanted, known);
      const hint = near === undefined ? 'Add the key, or set "optional: true".' : `Did you mean "${near}"?`;
      return { message: `${kind} ${namespace}/${name} has no key "${wanted}": the pod waits for it`, hint };
    });
}

function hintFor({ kind, name, key, field }: ObjectReference, declared: readonly string[]): string {
  const prefix = key.slice(0, -name.length);
  const near = nearestName(
    name,
    declared.filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length)),
  );
  if (near !== undefined) return `Did you mean "${near}"?`;
  if (field.startsWith('spec.imagePullSecrets')) {
    return 'Declare it with the pod. Until then, images are pulled without it.';
  }
  const optional = kind === 'PersistentVolumeClaim' || field.includes('.csi.') ? '' : ', or set "optional: true"';
  return `Declare it with the pod${optional}. Until then, the pod waits.`;
}
