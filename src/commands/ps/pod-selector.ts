import { nearestName } from '../../api/text/nearest-name.ts';
import { parseLabelSelector } from '../../api/values/label-selector.ts';
import { UserError } from '../../errors.ts';
import { compareValues, parseJSONPath, valuesAt } from '../output/json-path.ts';
import { podsShown } from '../pod/resolve-pods.ts';
import { type ManifestNode, unknownPodHint } from '../objects/refused-manifest.ts';
import type { ListedPod } from '../../engine/listing/shown-revisions.ts';
import type { Pod } from '../../api/types.ts';
import { visible } from '../../text/visible-text.ts';

/** The fields of a pod that can be selected. kubelet: core/v1/conversion.go AddFieldLabelConversionsForPod */
const selectableFields: Readonly<Record<string, (pod: Pod) => string | undefined>> = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace,
  'spec.nodeName': ({ spec }) => spec.nodeName,
  'spec.restartPolicy': ({ spec }) => spec.restartPolicy,
  'spec.schedulerName': ({ spec }) => spec.schedulerName,
  'spec.serviceAccountName': ({ spec }) => spec.serviceAccountName,
  'spec.hostNetwork': ({ spec }) => String(spec.hostNetwork ?? false),
  'status.phase': ({ status }) => status?.phase,
  'status.podIP': ({ status }) => status?.podIP,
};

export interface ChoiceFlags {
  namespace?: string;
  allNamespaces?: boolean;
  selector?: string;
  fieldSelector?: string;
  sortBy?: string;
}

/**
 * Returns a function that selects pods by names and flags, and sorts them. It rejects with a `UserError` for a name
 * that no pod has. Throws a `UserError` if the value of a flag is invalid.
 */
export function podSelector(
  names: readonly string[],
  { namespace, allNamespaces = false, selector, fieldSelector, sortBy }: ChoiceFlags,
): (pods: readonly ListedPod[], node: ManifestNode | undefined) => Promise<ListedPod[]> {
  const own = allNamespaces ? undefined : namespace;
  const hasLabels = selector === undefined ? () => true : parseLabelSelector(selector);
  const hasFields = fieldSelector === undefined ? () => true : parseFieldSelector(fieldSelector);
  const path = sortBy === undefined ? undefined : parseJSONPath(sortBy);
  return async (pods, node) => {
    const inNamespace = pods.filter(({ pod }) => own === undefined || pod.metadata.namespace === own);
    const named = await Promise.all(names.map((name) => podsNamed(inNamespace, name, own, node)));
    const chosen = (names.length === 0 ? inNamespace : named.flat()).filter(
      ({ pod }) => hasLabels(pod.metadata.labels ?? {}) && hasFields(pod),
    );
    if (path === undefined) return [...new Set(chosen)];
    const key = ({ pod }: ListedPod): unknown => valuesAt(pod, path)[0];
    return [...new Set(chosen)].sort((a, b) => compareValues(key(a), key(b)));
  };
}

async function podsNamed(
  pods: readonly ListedPod[],
  name: string,
  namespace: string | undefined,
  node: ManifestNode | undefined,
): Promise<ListedPod[]> {
  const reference = { pod: name, namespace, nodeName: node?.nodeName ?? '' };
  const found = podsShown(pods, reference, ({ pod }) => pod.metadata);
  if (found.length > 0) return found;
  const known = pods.map(({ pod }) => pod.metadata.name);
  const near = nearestName(name, known);
  throw new UserError(`no pod "${name}"`, {
    hint: (await unknownPodHint(reference, node, near)) ?? 'kubelet-ts ps lists all pods.',
  });
}

/**
 * Parses a selector such as `status.phase=Running,metadata.name!=web`. Returns a function that is true for selected
 * pods. Throws a `UserError` if the text is not a selector, or names an unsupported field.
 */
export function parseFieldSelector(text: string): (pod: Pod) => boolean {
  const requirements = text.split(',').map((part) => parseRequirement(part.trim(), text));
  return (pod) => requirements.every((isMet) => isMet(pod));
}

function parseRequirement(part: string, text: string): (pod: Pod) => boolean {
  const [, field, operator, value = ''] = /^([^=!\s]+)\s*(==?|!=)\s*(.*)$/.exec(part) ?? [];
  if (field === undefined) {
    throw new UserError(`"${visible(text)}" is not a field selector`, {
      hint: 'Write it as status.phase=Running,metadata.name!=web.',
    });
  }
  const read = Object.hasOwn(selectableFields, field) ? selectableFields[field] : undefined;
  if (read === undefined) {
    const known = Object.keys(selectableFields);
    const near = nearestName(field, known);
    throw new UserError(`pods cannot be selected by the field "${visible(field)}"`, {
      hint: near === undefined ? `These fields can be selected: ${known.join(', ')}.` : `Did you mean ${near}?`,
    });
  }
  return (pod) => ((read(pod) ?? '') === value) === (operator !== '!=');
}
