import type { Taint, Toleration } from 'kubernetes-types/core/v1.js';

/** True when one of the tolerations is for this taint. kubelet: component-helpers/scheduling/corev1 ToleratesTaint */
export function toleratesTaint(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some(({ key = '', operator = 'Equal', value = '', effect = '' }) => {
    if (effect !== '' && effect !== taint.effect) return false;
    if (key !== '' && key !== taint.key) return false;
    return operator === 'Exists' || (operator === 'Equal' && value === (taint.value ?? ''));
  });
}
