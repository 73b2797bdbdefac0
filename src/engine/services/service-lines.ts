import { isIP } from 'node:net';
import { hasClusterIP, namedDomain, type Service, type ServiceAddresses } from '../../api/values/service.ts';
import { type Allocation, serviceKey } from './allocation.ts';
import { byName, isSelected, type ServicePod } from './service-pod.ts';

/** What the names of Services lead to. */
interface Named {
  services: readonly Service[];
  pods: readonly ServicePod[];
  /** Addresses outside this node. */
  addresses: readonly ServiceAddresses[];
  /** By `serviceKey`. A Service without one is treated as headless. */
  allocations: ReadonlyMap<string, Allocation>;
}

/** The reader of the file: its pod's namespace, and the cluster's domain. */
interface Reader {
  namespace: string;
  /** Empty means `cluster.local`. */
  clusterDomain: string;
}

/**
 * Returns the lines of a hosts file that name Services as a cluster's DNS would: by their cluster addresses, or if they
 * are headless, by the addresses of their pods. Pods of the same namespace can use the short name. If a pod has the
 * Service as its subdomain, it also has its own name. Kubernetes: DNS-Based Service Discovery, specification 1.1.0
 */
export function serviceLines(named: Named, reader: Reader): string[] {
  const pods = named.pods.toSorted(byName);
  return named.services
    .toSorted(byName)
    .flatMap((service) => [...linesOf(service, { ...named, pods }, reader), ...ownLines(service, pods, reader)]);
}

function linesOf(service: Service, named: Named, reader: Reader): string[] {
  const names = namesOf(service.name, service.namespace, reader);
  const lines = (ips: readonly string[]): string[] => ips.map((ip) => [ip, ...names].join('\t'));
  if (service.type === 'ExternalName') return lines(externalIPs(service, named));
  return lines(addressesOf(service, named));
}

function addressesOf(service: Service, { pods, addresses, allocations }: Named): string[] {
  const allocation = hasClusterIP(service) ? allocations.get(serviceKey(service)) : undefined;
  if (allocation !== undefined) return [...allocation.clusterIPs];
  const ofPods = pods.filter((pod) => isNamedBy(service, pod)).flatMap(({ ips }) => ips);
  if (Object.keys(service.selector).length > 0) return ofPods;
  const own = addresses.filter((one) => one.namespace === service.namespace && one.service === service.name);
  return [...new Set(own.flatMap(({ subsets }) => subsets.flatMap(({ ips }) => ips)))].sort();
}

/** The address of an ExternalName Service: the one that it names, or those of the Service that it names. */
function externalIPs({ externalName }: Service, named: Named): string[] {
  if (isIP(externalName) !== 0) return [externalName];
  const [name, namespace, kind] = externalName.split('.');
  if (kind !== 'svc') return [];
  const found = named.services.find((one) => one.name === name && one.namespace === namespace);
  return found === undefined || found.type === 'ExternalName' ? [] : addressesOf(found, named);
}

/** Lines for the names of pods whose subdomain is the Service. */
function ownLines(service: Service, pods: readonly ServicePod[], reader: Reader): string[] {
  return pods
    .filter((pod) => pod.hostname !== '' && pod.subdomain === service.name && isNamedBy(service, pod))
    .flatMap(({ hostname, ips }) => {
      const names = namesOf(`${hostname}.${service.name}`, service.namespace, reader);
      return ips.map((ip) => [ip, ...names].join('\t'));
    });
}

const isNamedBy = (service: Service, pod: ServicePod): boolean =>
  isSelected(service, pod) && (service.publishNotReadyAddresses || (pod.isReady && !pod.isTerminating));

function namesOf(name: string, namespace: string, reader: Reader): string[] {
  const full = `${name}.${namespace}`;
  return [
    ...(namespace === reader.namespace ? [name] : []),
    full,
    `${full}.svc`,
    `${full}.svc.${namedDomain(reader.clusterDomain)}`,
  ];
}

const begin = '# Entries added by Services.';
const end = '# End of the entries added by Services.';
const block = new RegExp(`\n${begin}\n[^]*?${end}\n`);

/** Returns the hosts file with its Service lines replaced by these. All other lines stay. */
export function withServiceLines(hostsFile: string, lines: readonly string[]): string {
  const text = lines.length === 0 ? '' : `\n${begin}\n${lines.join('\n')}\n${end}\n`;
  return block.test(hostsFile) ? hostsFile.replace(block, () => text) : hostsFile + text;
}
