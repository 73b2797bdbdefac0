import type { Pod } from '../../api/types.ts';
import { configAnnotations } from '../../api/config-annotations.ts';

/** True for a pod of any source but an API server. kubelet: types/pod_update.go IsStaticPod */
export function isStaticPod({ metadata }: { metadata?: Partial<Pod['metadata']> }): boolean {
  const source = metadata?.annotations?.[configAnnotations.source];
  return source !== undefined && source !== 'api';
}
