/**
 * True for a pod whose containers have all exited and will not restart. kubelet: pkg/api/v1/pod/util.go
 * IsPodPhaseTerminal
 */
export const isPodPhaseTerminal = (phase: string | undefined): phase is 'Failed' | 'Succeeded' =>
  phase === 'Failed' || phase === 'Succeeded';
