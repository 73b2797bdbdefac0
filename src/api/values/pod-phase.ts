/** True for a pod whose containers have all ended for good. kubelet: pkg/api/v1/pod/util.go IsPodPhaseTerminal */
export const isPodPhaseTerminal = (phase: string | undefined): phase is 'Failed' | 'Succeeded' =>
  phase === 'Failed' || phase === 'Succeeded';
