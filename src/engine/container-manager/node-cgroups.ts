import type { CgroupSettings } from './cgroup-settings.ts';
import { type CgroupName, parseCgroupPath } from './cgroup-names.ts';
import { nodeAllocatableEnforced, podsCgroupLimits } from './node-allocatable.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';

/** No limit for all pods together, because each pod has its own limit and more pages may be reserved later. */
const anyHugePages: ReadonlyMap<bigint, bigint> = new Map();

/** Limits for all pods together. kubelet: cm/node_container_manager_linux.go createNodeAllocatableCgroups */
export function kubepodsLimits({ nodeAllocatable }: Pick<CgroupSettings, 'nodeAllocatable'>): CgroupLimits {
  const { enforce, reservations } = nodeAllocatable;
  const resources = enforce.includes('pods') ? nodeAllocatableEnforced(reservations) : reservations.capacity;
  return { ...podsCgroupLimits(resources), hugePageLimits: anyHugePages };
}

/** An existing cgroup for reserved processes, created by the system or the user. */
export interface ReservedCgroup {
  /** As configured. */
  path: string;
  flag: string;
  name: CgroupName;
  limits: CgroupLimits;
}

/**
 * Limits of the system daemons and the Kubernetes daemons. kubelet: cm/node_container_manager_linux.go
 * enforceNodeAllocatableCgroups
 */
export function reservedCgroups(node: Pick<CgroupSettings, 'cgroupDriver' | 'nodeAllocatable'>): ReservedCgroup[] {
  const { enforce, reservations, systemReservedCgroup, kubeReservedCgroup } = node.nodeAllocatable;
  const kinds = [
    { kind: 'system-reserved', path: systemReservedCgroup, resources: reservations.systemReserved },
    { kind: 'kube-reserved', path: kubeReservedCgroup, resources: reservations.kubeReserved },
  ] as const;
  return kinds.flatMap(({ kind, path, resources }) => {
    const cgroup = { path, flag: `--${kind}-cgroup`, name: parseCgroupPath(path, node.cgroupDriver) };
    const limits = { ...podsCgroupLimits(resources), hugePageLimits: anyHugePages };
    if (enforce.includes(kind)) return [{ ...cgroup, limits }];
    if (!enforce.includes(`${kind}-compressible`)) return [];
    // Only compressible resources, whose shortage slows processes down but does not kill them.
    const { cpuShares, hugePageLimits } = limits;
    return [{ ...cgroup, limits: { ...(cpuShares !== undefined && { cpuShares }), hugePageLimits } }];
  });
}
