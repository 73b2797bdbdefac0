import type { Clock } from '../../../clock.ts';
import type { Meter } from '../../view/meter.ts';

interface Deps {
  meter?: Pick<Meter, 'count' | 'observe'> | undefined;
  clock: Pick<Clock, 'monotonic'>;
}

/** Counts and times an admission. Without a result every pod is admitted. kubelet: topologymanager/scope.go Admit */
export function noteAdmission(
  { meter, clock }: Deps,
  startedAtMonotonic: number,
  result: { admit: boolean } | undefined,
): void {
  meter?.count('kubelet_topology_manager_admission_requests_total', {});
  if (result?.admit === false) meter?.count('kubelet_topology_manager_admission_errors_total', {});
  meter?.observe('kubelet_topology_manager_admission_duration_ms', clock.monotonic() - startedAtMonotonic, {});
}
