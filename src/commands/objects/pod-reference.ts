import { UserError } from '../../errors.ts';

/** A user's reference to a pod. */
export interface PodReference {
  /**
   * `name`, a static pod's name without the node's, or `namespace/name`. May start with `pod/`. `deploy/web` means the
   * pod of a workload, unless a namespace `deploy` has a pod `web`.
   */
  readonly pod: string;
  readonly namespace?: string | undefined;
  /** Suffix of the names of static pods. */
  readonly nodeName: string;
}

/** True for kubectl's words for pods. */
export const isPodKind = (word: string): boolean => ['pod', 'pods', 'po'].includes(word);

/** The parts of a pod's name. Throws a `UserError` if it is invalid. */
export function parseReference({ pod, namespace }: Pick<PodReference, 'pod' | 'namespace'>): {
  namespace: string | undefined;
  name: string;
} {
  const parts = pod.split('/');
  if (isPodKind(parts[0] ?? '') && parts.length > 1) parts.shift();
  const [first = '', second, ...others] = parts;
  if (others.length > 0 || first === '' || second === '') {
    throw new UserError(`"${pod}" is not the name of a pod`, { hint: 'Name it as name or namespace/name.' });
  }
  if (second === undefined) return { namespace, name: first };
  if (namespace !== undefined && namespace !== first) {
    throw new UserError(`"${pod}" names a namespace other than --namespace ${namespace}`);
  }
  return { namespace: first, name: second };
}
