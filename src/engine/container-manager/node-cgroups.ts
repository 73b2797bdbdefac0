import type { CgroupSettings } from './cgroup-settings.ts';
import { type CgroupName, parseCgroupPath } from './cgroup-names.ts';
import { nodeAllocatableEnforced, podsCgroupLimits } from './node-allocatable.ts';
import type { CgroupLimits } from './pod-cgroup-limits.ts';

/** Each pod is held to the huge pages that it asks for; there may be more of them later than there are now. */
const anyHugePages: ReadonlyMap<bigint, bigint> = new Map();

/** What all pods together are held to. kubelet: cm/node_container_manager_linux.go createNodeAllocatableCgroups */
export function kubepodsLimits({ nodeAllocatable }: Pick<CgroupSettings, 'nodeAllocatable'>): CgroupLimits {
  const { enforce, reservations } = nodeAllocatable;
  const resources = enforce.includes('pods') ? nodeAllocatableEnforced(reservations) : reservations.capacity;
  return { ...podsCgroupLimits(resources), hugePageLimits: anyHugePages };
}

/** A cgroup that others made for what is reserved. */
export interface ReservedCgroup {
  /** As configured. */
  path: string;
  flag: string;
  name: CgroupName;
  limits: CgroupLimits;
}

/**
 * What the system and the agent are held to.
 * kubelet: cm/node_container_manager_linux.go enforceNodeAllocatableCgroups
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
    // What can be compressed is only slowed down.
    const { cpuShares, hugePageLimits } = limits;
    return [{ ...cgroup, limits: { ...(cpuShares !== undefined && { cpuShares }), hugePageLimits } }];
  });
}
