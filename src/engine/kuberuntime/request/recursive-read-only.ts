import type { Container } from '../../../api/types.ts';
import { UserError } from '../../../errors.ts';

export interface RecursiveReadOnlySupport {
  /** Feature gate RecursiveReadOnlyMounts. */
  isEnabled: boolean;
  /** The runtime says that its default handler can do it. */
  isSupported: boolean;
}

/**
 * Whether a mount is read-only with everything that is mounted below it. Throws a `UserError` when it has to be and cannot.
 * kubelet: kubelet_pods.go resolveRecursiveReadOnly
 */
export function isRecursivelyReadOnly(
  {
    name,
    readOnly,
    mountPropagation = 'None',
    recursiveReadOnly: mode,
  }: NonNullable<Container['volumeMounts']>[number],
  { isEnabled, isSupported }: RecursiveReadOnlySupport,
): boolean {
  if (mode === undefined || mode === 'Disabled') return false;
  const because = (problem: string): UserError =>
    new UserError(
      `failed to resolve recursive read-only mode: volume "${name}" requested recursive read-only mode, but it is not ${problem}`,
    );
  if (readOnly !== true) throw because('read-only');
  if (mountPropagation !== 'None') throw because(`compatible with propagation "${mountPropagation}"`);
  if (mode === 'Enabled' && !isSupported) throw because('supported by the runtime');
  if (!isSupported) return false;
  if (!isEnabled) {
    throw new UserError('recursive read-only mount needs feature gate "RecursiveReadOnlyMounts" to be enabled');
  }
  return true;
}
