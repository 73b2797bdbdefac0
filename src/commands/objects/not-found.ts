import { nearestName } from '../../api/text/nearest-name.ts';
import type { SupportedKind } from '../../api/decoding/manifest-kinds.ts';
import { pluralName } from '../../engine/applied/applied-object.ts';
import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';

/** An object that a command found, by the word that names it. */
export interface Known {
  kind: SupportedKind;
  name: string;
  /** Absent or empty if it is in no namespace, or if that does not matter. */
  namespace?: string;
}

/**
 * The error of an object that does not exist, in the words of kubectl: `deployments.apps "wbe" not found`. Suggests
 * one of `known`: in another namespace, of another kind with this name, or of this kind with a similar name.
 */
export function notFound({ kind, name }: Pick<Known, 'kind' | 'name'>, known: readonly Known[]): UserError {
  return new UserError(`${pluralName(kind)} "${visible(name)}" not found`, { hint: hintFor({ kind, name }, known) });
}

function hintFor({ kind, name }: Pick<Known, 'kind' | 'name'>, known: readonly Known[]): string {
  const elsewhere = known.find((one) => one.name === name && one.kind === kind && (one.namespace ?? '') !== '');
  if (elsewhere?.namespace !== undefined) return `It is in another namespace: -n ${visible(elsewhere.namespace)}`;
  const sameName = known.find((one) => one.name === name && one.kind !== kind);
  const near = nearestName(
    name,
    known.filter((one) => one.kind === kind).map((one) => one.name),
  );
  const meant = near === undefined ? sameName : { kind, name: near };
  return meant === undefined
    ? `List them: kubelet-ts get ${kind.toLowerCase()}`
    : `Did you mean ${meant.kind.toLowerCase()}/${visible(meant.name)}?`;
}
