import type { ForwardedPort } from '../../api/values/service.ts';

/** Ports of Services for which the kernel lacks modules. */
export interface RefusedPorts {
  ports: readonly ForwardedPort[];
  modules: readonly string[];
  error: unknown;
}

interface Accepted {
  /** What `apply` returned. */
  wasCut: boolean;
  /** Absent if the kernel accepts all ports. */
  refused?: RefusedPorts;
}

/** The modules that a port needs besides those of all ports. Kernels for small machines often lack some. */
function modulesOf({ protocol, affinitySeconds, at }: ForwardedPort): string[] {
  return [
    ...(protocol === 'SCTP' ? ['xt_sctp'] : []),
    ...(protocol === 'UDP' ? ['xt_CT'] : []),
    ...(affinitySeconds > 0 ? ['xt_recent'] : []),
    ...('node' in at ? ['xt_addrtype'] : []),
  ];
}

/**
 * Calls `apply` with all ports. The kernel refuses all rules if it lacks a module for one of them: then leaves out the
 * ports that need it, as few as possible. Rejects if the kernel refuses the other ports too.
 */
export async function applyAccepted(
  ports: readonly ForwardedPort[],
  apply: (ports: readonly ForwardedPort[]) => Promise<boolean>,
): Promise<Accepted> {
  const errors: unknown[] = [];
  for (const modules of subsetsOf(new Set(ports.flatMap(modulesOf)))) {
    const isRefused = (port: ForwardedPort): boolean => modulesOf(port).some((module) => modules.includes(module));
    try {
      const wasCut = await apply(ports.filter((port) => !isRefused(port)));
      if (modules.length === 0) return { wasCut };
      return { wasCut, refused: { ports: ports.filter(isRefused), modules, error: errors[0] } };
    } catch (error) {
      errors.push(error);
    }
  }
  throw errors[0];
}

/** Returns the empty one first, then by size. */
function subsetsOf(modules: ReadonlySet<string>): string[][] {
  const all = [...modules].reduce<string[][]>(
    (sets, module) => [...sets, ...sets.map((set) => [...set, module])],
    [[]],
  );
  return all.sort((a, b) => a.length - b.length);
}
