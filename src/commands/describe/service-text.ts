import type { Pod } from '../../api/types.ts';
import { isPodReady } from '../../api/values/pod-conditions.ts';
import { hasNodePorts, type Service, type ServiceAddresses, type ServicePort } from '../../api/values/service.ts';
import { outsideEndpoints } from '../../engine/services/compute-forwarding.ts';
import { familyOf, isSelected, namedPortsOf } from '../../engine/services/service-pod.ts';
import { fields } from './field-text.ts';

interface Backends {
  /** All pods of the node. Undefined if no agent reports them. */
  pods: readonly Pod[] | undefined;
  /** The declared `Endpoints` and `EndpointSlice`s. */
  addresses: readonly ServiceAddresses[];
}

/** The description of a Service with its allocated addresses in the layout of `kubectl describe`. */
export function serviceText(service: Service, where: string, { pods, addresses }: Backends): string {
  const { namespace, name, selector, type, ipFamilyPolicy, externalName, affinitySeconds } = service;
  const [clusterIP] = service.clusterIPs;
  const ips = service.clusterIPs.filter((ip) => ip !== 'None');
  const backends = pods?.filter((pod) => isBackend(service, pod));
  const endpoints = (port: ServicePort): string | undefined => {
    if (Object.keys(selector).length === 0) return declaredEndpoints(service, port, addresses).join(',') || '<none>';
    return backends && (endpointsOf(service, port, backends).join(',') || '<none>');
  };
  const ports = service.ports.flatMap((port): [string, string | undefined][] => {
    return [
      ['Port', `${port.name === '' ? '<unset>' : port.name}  ${port.port}/${port.protocol}`],
      ['TargetPort', `${port.targetPort}/${port.protocol}`],
      ['NodePort', port.nodePort === 0 ? undefined : `${port.nodePort}/${port.protocol}`],
      ['Endpoints', endpoints(port)],
    ];
  });
  const isExternal = type === 'ExternalName';
  return fields(0, [
    ['Name', name],
    ['Namespace', namespace],
    ['Declared By', where],
    ['Selector', pairs(selector)],
    ['Type', type],
    ['IP Family Policy', isExternal ? undefined : ipFamilyPolicy],
    ['IP Families', ips.map(familyOf).join(',')],
    ['IP', clusterIP ?? (isExternal ? undefined : '<none>')],
    ['IPs', ips.join(',')],
    ['External Name', externalName],
    ...ports,
    ['Session Affinity', affinitySeconds > 0 ? `ClientIP (${affinitySeconds}s)` : 'None'],
    ['External Traffic Policy', hasNodePorts(service) ? service.externalTrafficPolicy : undefined],
    ['Internal Traffic Policy', isExternal ? undefined : service.internalTrafficPolicy],
  ]);
}

function isBackend(service: Service, { metadata: { namespace, labels = {} }, status }: Pod): boolean {
  return isSelected(service, { namespace, labels }) && (service.publishNotReadyAddresses || isPodReady(status));
}

function endpointsOf(service: Service, { targetPort, protocol }: ServicePort, pods: readonly Pod[]): string[] {
  return pods.flatMap(({ spec, status = {} }) => {
    const named = namedPortsOf(spec).find((one) => one.name === targetPort && one.protocol === protocol);
    const port = typeof targetPort === 'number' ? targetPort : named?.port;
    if (port === undefined) return [];
    const ips = status.podIPs?.map(({ ip }) => ip ?? '') ?? [status.podIP ?? ''];
    const ofFamily = ips.filter((ip) => ip !== '' && (service.ipFamilies[0] ?? familyOf(ip)) === familyOf(ip));
    return ofFamily.slice(0, 1).map((ip) => formatEndpoint({ ip, port }));
  });
}

function declaredEndpoints(service: Service, port: ServicePort, addresses: readonly ServiceAddresses[]): string[] {
  const families = (['IPv4', 'IPv6'] as const).filter((one) => (service.ipFamilies[0] ?? one) === one);
  return families.flatMap((family) => outsideEndpoints(service, port, { addresses, family })).map(formatEndpoint);
}

const formatEndpoint = ({ ip, port }: { ip: string; port: number }): string =>
  ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;

function pairs(map: Readonly<Record<string, string>>): string {
  const lines = Object.entries(map).map(([key, value]) => `${key}=${value}`);
  return lines.join(',') || '<none>';
}
