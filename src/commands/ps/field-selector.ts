import { nearestName } from '../../api/text/nearest-name.ts';
import type { Pod } from '../../api/types.ts';
import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';

/** The fields of a pod that can be selected. kubelet: core/v1/conversion.go AddFieldLabelConversionsForPod */
const fields: Readonly<Record<string, (pod: Pod) => string | undefined>> = {
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

/**
 * Parses a selector such as `status.phase=Running,metadata.name!=web`. Returns a function that is true for pods that it
 * selects. Throws a `UserError` if the text is no selector, or has a field that cannot be selected.
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
  const read = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (read === undefined) {
    const known = Object.keys(fields);
    const near = nearestName(field, known);
    throw new UserError(`pods cannot be selected by the field "${visible(field)}"`, {
      hint: near === undefined ? `These fields can be selected: ${known.join(', ')}.` : `Did you mean ${near}?`,
    });
  }
  return (pod) => ((read(pod) ?? '') === value) === (operator !== '!=');
}
