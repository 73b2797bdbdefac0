import type { ResourceList } from '../../api/types.ts';
import { UserError } from '../../errors.ts';

/** Parses a list such as `0-3,8`. A reversed range is empty. */
export function parseCPUList(text: string): Set<number> {
  const cpus = new Set<number>();
  for (const part of text.trim().split(',')) {
    const [, first = '', last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === '') continue;
    // No kernel has more CPUs. The limit keeps a mistyped range from using all memory.
    const end = Math.min(Number(last), maxCPU);
    for (let cpu = Number(first); cpu <= end; cpu++) cpus.add(cpu);
  }
  return cpus;
}

const maxCPU = 65_535;

interface Reserved {
  systemReserved: ResourceList;
  kubeReserved: ResourceList;
}

/**
 * Applies reservedSystemCPUs, which may be empty. The number of its CPUs replaces all reserved amounts of cpu. Throws a
 * `UserError` if the machine lacks one of the CPUs. kubelet: cmd/kubelet/app/server.go run, getReservedCPUs
 */
export function withReservedCPUs(
  { systemReserved, kubeReserved }: Reserved,
  reservedSystemCPUs: string,
  onlineCPUs: ReadonlySet<number>,
): Reserved {
  if (reservedSystemCPUs === '') return { systemReserved, kubeReserved };
  const cpus = parseCPUList(reservedSystemCPUs);
  const missing = [...cpus].filter((cpu) => !onlineCPUs.has(cpu));
  if (cpus.size === 0 || missing.length > 0) {
    throw new UserError(`reservedSystemCPUs: ${reservedSystemCPUs} contains CPUs that this machine does not have`, {
      hint: `Use CPUs from this list: ${[...onlineCPUs].join(',')}.`,
    });
  }
  const others = Object.fromEntries(Object.entries(kubeReserved).filter(([name]) => name !== 'cpu'));
  return { systemReserved: { ...systemReserved, cpu: String(cpus.size) }, kubeReserved: others };
}
