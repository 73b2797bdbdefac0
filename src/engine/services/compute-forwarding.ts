import {
  type ForwardedPort,
  hasClusterIP,
  hasNodePorts,
  type IPFamily,
  type Service,
  type ServiceAddresses,
  type ServicePort,
} from '../../api/values/service.ts';
import { type Allocation, portKey, serviceKey } from './allocation.ts';
import { byName, familyOf, isSelected, type ServicePod } from './service-pod.ts';

interface Backends {
  pods: readonly ServicePod[];
  /** Addresses outside this node. */
  addresses: readonly ServiceAddresses[];
}

/** Returns every port to forward, in a fixed order, so that equal input gives equal rules. */
export function computeForwarding(
  services: readonly Service[],
  allocations: ReadonlyMap<string, Allocation>,
  backends: Backends,
): ForwardedPort[] {
  const pods = backends.pods.toSorted(byName);
  return services
    .filter(hasClusterIP)
    .toSorted(byName)
    .flatMap((service) => {
      const allocation = allocations.get(serviceKey(service));
      return allocation === undefined
        ? []
        : forwardService(service, allocation, { ...backends, pods: pods.filter((pod) => isUsable(service, pod)) });
    });
}

const isUsable = (service: Service, pod: ServicePod): boolean =>
  isSelected(service, pod) && (pod.isReady || service.publishNotReadyAddresses);

/** `backends` has only pods of the Service. */
const forwardService = (service: Service, allocation: Allocation, backends: Backends): ForwardedPort[] =>
  service.ports.flatMap((port) => forwardPort({ service, port, allocation }, backends));

interface PortOfService {
  service: Service;
  port: ServicePort;
  allocation: Allocation;
}

function forwardPort({ service, port, allocation }: PortOfService, backends: Backends): ForwardedPort[] {
  const { namespace, name, affinitySeconds, internalTrafficPolicy, externalTrafficPolicy } = service;
  const title = `${namespace}/${name}${port.name === '' ? '' : `:${port.name}`}`;
  const common = { name: title, service: { namespace, name }, protocol: port.protocol, affinitySeconds };
  const forwarded = (
    at: ForwardedPort['at'],
    family: IPFamily,
    policy: Service['externalTrafficPolicy'],
  ): Omit<ForwardedPort, 'port'> => ({
    ...common,
    at,
    keepsSource: policy === 'Local',
    endpoints: endpointsOf(service, port, { ...backends, family, isLocal: policy === 'Local' }),
  });
  const nodePort = allocation.nodePorts[portKey(port)];
  const hasPortOfNode = hasNodePorts(service) && nodePort !== undefined;
  return allocation.clusterIPs.flatMap((clusterIP) => {
    const family = familyOf(clusterIP);
    return [
      { ...forwarded({ clusterIP }, family, internalTrafficPolicy), port: port.port },
      ...(hasPortOfNode ? [{ ...forwarded({ node: family }, family, externalTrafficPolicy), port: nodePort }] : []),
    ];
  });
}

/**
 * The endpoints of one port in one family. If all Ready pods with this port are stopping, it still leads to them, as in
 * a cluster. kubelet: pkg/proxy/topology.go CategorizeEndpoints
 */
function endpointsOf(
  service: Service,
  port: ServicePort,
  { pods, addresses, family, isLocal }: Backends & { family: IPFamily; isLocal: boolean },
): ForwardedPort['endpoints'] {
  const found = pods.flatMap((pod) => {
    const target = targetIn(pod, port);
    const ip = pod.ips.find((one) => familyOf(one) === family);
    if (target === undefined || ip === undefined) return [];
    const isTerminating = pod.isTerminating && !service.publishNotReadyAddresses;
    return [{ isTerminating, ip, port: target }];
  });
  const active = found.filter(({ isTerminating }) => !isTerminating);
  if (Object.keys(service.selector).length > 0)
    return (active.length > 0 ? active : found).map(({ ip, port: target }) => ({ ip, port: target }));
  return isLocal ? [] : outsideEndpoints(service, port, { addresses, family });
}

/** The number of the pod's port. Returns undefined if the pod has no port of that name. */
function targetIn({ namedPorts }: ServicePod, { targetPort, protocol }: ServicePort): number | undefined {
  if (typeof targetPort === 'number') return targetPort;
  return namedPorts.find((one) => one.name === targetPort && one.protocol === protocol)?.port;
}

/** The addresses of one family that `Endpoints` and `EndpointSlice` documents list for a port. */
export function outsideEndpoints(
  { namespace, name }: Service,
  port: ServicePort,
  { addresses, family }: { addresses: Backends['addresses']; family: IPFamily },
): ForwardedPort['endpoints'] {
  const own = addresses.filter((one) => one.namespace === namespace && one.service === name);
  const found = own.flatMap(({ subsets }) =>
    subsets.flatMap(({ ips, ports }) => {
      const target = ports.find((one) => one.name === port.name && one.protocol === port.protocol);
      if (target === undefined) return [];
      return ips.filter((ip) => familyOf(ip) === family).map((ip) => ({ ip, port: target.port }));
    }),
  );
  const unique = new Map(found.map((endpoint) => [`${endpoint.ip} ${endpoint.port}`, endpoint]));
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, endpoint]) => endpoint);
}
