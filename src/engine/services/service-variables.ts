import { hasClusterIP, type Service } from '../../api/values/service.ts';
import { type Allocation, serviceKey } from './allocation.ts';

/**
 * Returns the variables by which containers of a namespace find its Services: `NAME_SERVICE_HOST`, `NAME_SERVICE_PORT`
 * and those of Docker's links. kubelet: pkg/kubelet/envvars/envvars.go FromServices
 */
export function serviceVariables(
  services: readonly Service[],
  allocations: ReadonlyMap<string, Allocation>,
  namespace: string,
): Map<string, string> {
  const variables = services
    .filter((service) => service.namespace === namespace && hasClusterIP(service))
    .flatMap((service) => {
      const [ip] = allocations.get(serviceKey(service))?.clusterIPs ?? [];
      return ip === undefined ? [] : variablesOf(service, ip);
    });
  return new Map(variables);
}

function variablesOf({ name, ports }: Service, ip: string): [string, string][] {
  const prefix = upper(name);
  const host = ip.includes(':') ? `[${ip}]` : ip;
  const links = ports.map((one) => ({
    ...one,
    link: `${prefix}_PORT_${one.port}_${one.protocol}`,
    url: `${one.protocol.toLowerCase()}://${host}:${one.port}`,
  }));
  const [first] = links;
  if (first === undefined) return [];
  return [
    [`${prefix}_SERVICE_HOST`, ip],
    [`${prefix}_SERVICE_PORT`, `${first.port}`],
    ...ports
      .filter((port) => port.name !== '')
      .map((port): [string, string] => [`${prefix}_SERVICE_PORT_${upper(port.name)}`, `${port.port}`]),
    [`${prefix}_PORT`, first.url],
    ...links.flatMap(({ link, url, protocol, port }): [string, string][] => [
      [link, url],
      [`${link}_PROTO`, protocol.toLowerCase()],
      [`${link}_PORT`, `${port}`],
      [`${link}_ADDR`, ip],
    ]),
  ];
}

const upper = (name: string): string => name.toUpperCase().replaceAll('-', '_');
