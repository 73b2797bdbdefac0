import type { Pod } from '../../api/types.ts';
import { isPodReady } from '../../api/values/pod-conditions.ts';
import type { IPFamily, Protocol, Service } from '../../api/values/service.ts';

/** A pod that Services may lead to. */
export interface ServicePod {
  namespace: string;
  name: string;
  labels: Readonly<Record<string, string>>;
  /** `spec.hostname` and `spec.subdomain`. May be empty. */
  hostname: string;
  subdomain: string;
  /** Addresses, primary first. */
  ips: readonly string[];
  isReady: boolean;
  /**
   * True once it stops. Until it is no longer Ready, it gets connections only if the Service has no other pod. It does
   * not count for Services with `publishNotReadyAddresses`.
   */
  isTerminating: boolean;
  /** Ports of its containers with a name. */
  namedPorts: readonly { name: string; protocol: Protocol; port: number }[];
}

/** Returns what Services use of a pod. `ips` are its addresses, primary first. */
export function servicePod(
  { metadata: { namespace, name, labels = {} }, spec, status }: Pod,
  { ips, isTerminating }: Pick<ServicePod, 'ips' | 'isTerminating'>,
): ServicePod {
  const { hostname = '', subdomain = '' } = spec;
  const isReady = isPodReady(status);
  return { namespace, name, labels, hostname, subdomain, ips, isReady, isTerminating, namedPorts: namedPortsOf(spec) };
}

/** True if the Service selects the pod, in whatever state the pod is. */
export function isSelected({ namespace, selector }: Service, pod: Pick<ServicePod, 'namespace' | 'labels'>): boolean {
  const wanted = Object.entries(selector);
  return wanted.length > 0 && pod.namespace === namespace && wanted.every(([key, value]) => pod.labels[key] === value);
}

export const byName = (a: Pick<ServicePod, 'namespace' | 'name'>, b: typeof a): number =>
  `${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1;

export const familyOf = (address: string): IPFamily => (address.includes(':') ? 'IPv6' : 'IPv4');

/** Returns the named ports of a pod's containers and sidecars. kubelet: pkg/api/v1/pod FindPort */
export function namedPortsOf({ containers, initContainers = [] }: Pod['spec']): ServicePod['namedPorts'] {
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...containers, ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ name = '', protocol = 'TCP', containerPort }) =>
      name === '' ? [] : [{ name, protocol: protocol as Protocol, port: containerPort }],
    ),
  );
}
