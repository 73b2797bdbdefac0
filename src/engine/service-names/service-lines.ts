import type { Service } from '../../api/values/service.ts';

/** A pod that Services may give names to. */
export interface NamedPod {
  namespace: string;
  name: string;
  labels: Readonly<Record<string, string>>;
  /** `spec.hostname` and `spec.subdomain`. May be empty. */
  hostname: string;
  subdomain: string;
  /** Addresses, primary first. */
  ips: readonly string[];
  isReady: boolean;
}

/** The reader of the file: its pod's namespace, and the cluster's domain. */
interface Reader {
  namespace: string;
  /** Empty means `cluster.local`. */
  clusterDomain: string;
}

/**
 * Returns the lines of a hosts file that name the pods of all Services as a cluster's DNS would if each Service were
 * headless. Pods of the same namespace can use the short name. If a pod has the Service as its subdomain, the pod also
 * gets its own name. Kubernetes: DNS-Based Service Discovery, specification 1.1.0
 */
export function serviceLines(services: readonly Service[], pods: readonly NamedPod[], reader: Reader): string[] {
  return services.toSorted(byName).flatMap((service) =>
    pods
      .filter((pod) => isNamedBy(service, pod))
      .toSorted(byName)
      .flatMap((pod) => {
        const isOwnName = pod.hostname !== '' && pod.subdomain === service.name;
        const names = [
          ...namesOf(service.name, service.namespace, reader),
          ...(isOwnName ? namesOf(`${pod.hostname}.${service.name}`, service.namespace, reader) : []),
        ];
        return pod.ips.map((ip) => [ip, ...names].join('\t'));
      }),
  );
}

function isNamedBy({ namespace, selector, publishNotReadyAddresses }: Service, pod: NamedPod): boolean {
  const wanted = Object.entries(selector);
  return (
    wanted.length > 0 &&
    pod.namespace === namespace &&
    (pod.isReady || publishNotReadyAddresses) &&
    wanted.every(([key, value]) => pod.labels[key] === value)
  );
}

function namesOf(name: string, namespace: string, reader: Reader): string[] {
  const full = `${name}.${namespace}`;
  const domain = reader.clusterDomain === '' ? 'cluster.local' : reader.clusterDomain;
  return [...(namespace === reader.namespace ? [name] : []), full, `${full}.svc`, `${full}.svc.${domain}`];
}

const byName = (a: Pick<NamedPod, 'namespace' | 'name'>, b: typeof a): number =>
  `${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1;

const begin = '# Entries added by Services.';
const end = '# End of the entries added by Services.';
const block = new RegExp(`\n${begin}\n[^]*?${end}\n`);

/** Returns the hosts file with its Service lines replaced by these. All other lines stay. */
export function withServiceLines(hostsFile: string, lines: readonly string[]): string {
  const text = lines.length === 0 ? '' : `\n${begin}\n${lines.join('\n')}\n${end}\n`;
  return block.test(hostsFile) ? hostsFile.replace(block, () => text) : hostsFile + text;
}
