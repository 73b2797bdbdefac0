import type { Clock } from '../../clock.ts';
import type { Meter } from '../view/meter.ts';
import type { CgroupManager } from './cgroup-manager.ts';

/** Wraps a manager and measures the duration of its changes. kubelet: cm/cgroup_manager_linux.go */
export function meteredCgroups(
  cgroups: CgroupManager,
  { meter, clock }: { meter: Pick<Meter, 'observe'>; clock: Pick<Clock, 'monotonic'> },
): CgroupManager {
  const measured = async <T>(operation: string, change: () => Promise<T>): Promise<T> => {
    const startedAtMonotonic = clock.monotonic();
    try {
      return await change();
    } finally {
      const seconds = (clock.monotonic() - startedAtMonotonic) / 1000;
      meter.observe('kubelet_cgroup_manager_duration_seconds', seconds, { operation_type: operation });
    }
  };
  return {
    exists: (name) => cgroups.exists(name),
    apply: (name, limits) => measured('update', () => cgroups.apply(name, limits)),
    memoryUsageBytes: (name) => cgroups.memoryUsageBytes(name),
    hasMemoryQoS: (path) => cgroups.hasMemoryQoS(path),
    children: (name) => cgroups.children(name),
    isPopulated: (path) => cgroups.isPopulated(path),
    destroy: (name) => measured('destroy', () => cgroups.destroy(name)),
    removeIfEmpty: (name) => cgroups.removeIfEmpty(name),
  };
}
