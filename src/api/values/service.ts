export type IPFamily = 'IPv4' | 'IPv6';
export type Protocol = 'TCP' | 'UDP' | 'SCTP';

/** A Service from a manifest, with the defaults of the API server. */
export interface Service {
  kind: 'Service';
  namespace: string;
  name: string;
  type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName';
  /** The addresses that it asks for. `None` for a headless Service; empty to choose them. */
  clusterIPs: readonly string[];
  /** Primary first. Empty for the family of the node's first subnet. */
  ipFamilies: readonly IPFamily[];
  ipFamilyPolicy: 'SingleStack' | 'PreferDualStack' | 'RequireDualStack';
  ports: readonly ServicePort[];
  /** Labels of its pods. Empty if `Endpoints` or `EndpointSlice` documents list its addresses. */
  selector: Readonly<Record<string, string>>;
  /** True if pods that are not Ready count too. */
  publishNotReadyAddresses: boolean;
  /** How long a client stays with the same pod. 0 if each connection may get another. */
  affinitySeconds: number;
  internalTrafficPolicy: 'Cluster' | 'Local';
  externalTrafficPolicy: 'Cluster' | 'Local';
  /** True if every port without a `nodePort` gets one of the node. */
  choosesNodePorts: boolean;
  /** The server that an ExternalName Service stands for. Empty for other types. */
  externalName: string;
}

export interface ServicePort {
  /** Empty if it has none, which only the port of a Service with one port may. */
  name: string;
  protocol: Protocol;
  port: number;
  /** A port of the pods, or the name of one. */
  targetPort: number | string;
  /** The port of the node. 0 if the Service has none, or to choose it. */
  nodePort: number;
}

/** Addresses of a Service without a selector, from an `Endpoints` or `EndpointSlice` document. */
export interface ServiceAddresses {
  kind: 'Endpoints' | 'EndpointSlice';
  namespace: string;
  name: string;
  /** The name of its Service, in the same namespace. */
  service: string;
  subsets: readonly { ips: readonly string[]; ports: readonly EndpointPort[] }[];
}

export interface EndpointPort {
  /** The name of the port of the Service. */
  name: string;
  protocol: Protocol;
  port: number;
}

/** True if a cluster address forwards connections for it. Otherwise its names lead to its pods themselves. */
export const hasClusterIP = ({ type, clusterIPs, ports }: Service): boolean =>
  type !== 'ExternalName' && clusterIPs[0] !== 'None' && ports.length > 0;

/** True if ports of the node may forward connections for it. */
export const hasNodePorts = ({ type }: Service): boolean => type === 'NodePort' || type === 'LoadBalancer';

/**
 * The addresses and ports of the node that it asks for, as `ClusterIP/10.96.0.10` and `NodePort/TCP/30080`. Only one
 * Service can have each.
 */
export const allocationKeys = ({ clusterIPs, ports }: Service): string[] => [
  ...clusterIPs.filter((ip) => ip !== 'None').map((ip) => `ClusterIP/${ip}`),
  ...ports.flatMap(({ protocol, nodePort }) => (nodePort === 0 ? [] : [`NodePort/${protocol}/${nodePort}`])),
];

/** The ports from which node ports are chosen. */
export const nodePortRange = { first: 30_000, last: 32_767 } as const;

/** The domain that names of Services end with if the node's `clusterDomain` is empty. */
export const namedDomain = (clusterDomain: string): string => (clusterDomain === '' ? 'cluster.local' : clusterDomain);

/** One port that is forwarded to endpoints, on the cluster address of a Service or on all addresses of the node. */
export interface ForwardedPort {
  /** Unique with `at`, such as `default/db:postgres`. */
  name: string;
  service: Pick<Service, 'namespace' | 'name'>;
  /** A cluster address, or `node` and the family. */
  at: { clusterIP: string } | { node: IPFamily };
  protocol: Protocol;
  port: number;
  /** True if pods see the address of a client from outside the node. */
  keepsSource: boolean;
  affinitySeconds: number;
  /** Of the family of `at`, in a fixed order. */
  endpoints: readonly { ip: string; port: number }[];
}

/** What the kernel forwards for all Services. */
export interface Forwarding {
  /** The subnets of cluster addresses, at most one of each family. */
  subnets: readonly string[];
  ports: readonly ForwardedPort[];
}
