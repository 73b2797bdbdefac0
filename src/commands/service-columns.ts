import type { Service } from '../api/values/service.ts';
import type { ServiceProblem } from '../engine/view/service-problem.ts';
import { type Allocation, portKey, serviceKey } from '../engine/services/allocation.ts';

/** The Service with the addresses and ports of the node that it has. */
export function withAllocation(service: Service, allocations: ReadonlyMap<string, Allocation>): Service {
  const found = allocations.get(serviceKey(service));
  if (found === undefined) return service;
  const nodePorts = new Map(Object.entries(found.nodePorts));
  const ports = service.ports.map((port) => ({ ...port, nodePort: nodePorts.get(portKey(port)) ?? 0 }));
  return { ...service, clusterIPs: found.clusterIPs, ports };
}

/** The columns of Services with what they have, as kubectl prints them, and PROBLEM if one of them has a problem. */
export function serviceColumns(
  services: readonly Service[],
  problems: readonly ServiceProblem[],
): { titles: readonly string[]; rows: readonly (readonly string[])[] } {
  const titles = ['TYPE', 'CLUSTER-IP', 'PORT(S)'];
  const texts = services.map(({ namespace, name }) =>
    problems
      .filter((one) => one.kind === 'Service' && one.namespace === namespace && one.name === name)
      .map(({ message }) => message)
      .join('; '),
  );
  if (texts.every((text) => text === '')) return { titles, rows: services.map(ownColumns) };
  const rows = services.map((service, index) => [...ownColumns(service), texts[index] ?? '']);
  return { titles: [...titles, 'PROBLEM'], rows };
}

function ownColumns({ type, clusterIPs, externalName, ports }: Service): string[] {
  const shown = ports.map(
    ({ port, nodePort, protocol }) => `${port}${nodePort === 0 ? '' : `:${nodePort}`}/${protocol}`,
  );
  return [type, clusterIPs[0] ?? (externalName || '<none>'), shown.join(',') || '<none>'];
}
