import type { ResourceList } from '../../api/types.ts';
import { UserError } from '../../errors.ts';

/** The CPUs of a list such as `0-3,8`. A range that ends before it begins has none. */
export function parseCPUList(text: string): Set<number> {
  const cpus = new Set<number>();
  for (const part of text.trim().split(',')) {
    const [, first = '', last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === '') continue;
    // No kernel has more; a mistyped end of a range is not counted up to.
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
 * What is kept from pods when CPUs are reserved by number (reservedSystemCPUs, may be empty): how many they are takes the
 * place of every amount of cpu. Throws a `UserError` for CPUs that the machine does not have.
 * kubelet: cmd/kubelet/app/server.go run, getReservedCPUs
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
    throw new UserError(`reservedSystemCPUs: ${reservedSystemCPUs} are not all CPUs of this machine`, {
      hint: `It has ${[...onlineCPUs].join(',')}.`,
    });
  }
  const others = Object.fromEntries(Object.entries(kubeReserved).filter(([name]) => name !== 'cpu'));
  return { systemReserved: { ...systemReserved, cpu: String(cpus.size) }, kubeReserved: others };
}
