import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { nearestName } from '../../api/text/nearest-name.ts';
import { type ObjectReference, objectReferences } from '../../api/values/config-object-references.ts';
import { configObjectKey } from '../../api/values/config-object.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';

const kinds: readonly ObjectReference['kind'][] = ['ConfigMap', 'Secret', 'PersistentVolumeClaim'];

/**
 * A warning for each place where a pod needs an object that no manifest declares. Undeclared classes are errors, found
 * elsewhere. Empty if there are errors, because those may hide declarations.
 */
export function undeclaredObjects({
  where,
  pods,
  configObjects = [],
  classPlaces = [],
  problems,
}: SourceUpdate): ManifestProblem[] {
  if (problems.some(({ severity }) => severity === 'error')) return [];
  const declared = new Set(configObjects.map(configObjectKey));
  return pods.flatMap((pod) =>
    objectReferences(pod)
      .filter(({ kind, key, isOptional }) => kinds.includes(kind) && !isOptional && !declared.has(key))
      .map((reference): ManifestProblem => {
        const { kind, name, field } = reference;
        const { uid, namespace } = pod.metadata;
        const {
          origin = where,
          line,
          column,
        } = classPlaces.find((place) => place.podUID === uid && place.field === field) ?? {};
        return {
          origin,
          ...(line !== undefined && { line }),
          ...(column !== undefined && { column }),
          field,
          message: `no manifest declares ${kind} ${namespace}/${name}`,
          hint: hintFor(reference, [...declared]),
          severity: 'warning',
        };
      }),
  );
}

function hintFor({ kind, name, key, field }: ObjectReference, declared: readonly string[]): string {
  const beside = key.slice(0, -name.length);
  const near = nearestName(
    name,
    declared.filter((one) => one.startsWith(beside)).map((one) => one.slice(beside.length)),
  );
  if (near !== undefined) return `Did you mean "${near}"?`;
  if (field.startsWith('spec.imagePullSecrets')) {
    return 'Declare it beside the pod. Until then images are pulled without it.';
  }
  const optional = kind === 'PersistentVolumeClaim' || field.includes('.csi.') ? '' : ', or set "optional: true"';
  return `Declare it beside the pod${optional}. The pod waits until then.`;
}
