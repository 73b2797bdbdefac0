import type { Service } from '../../api/values/service.ts';

/** A pod that Services may name. */
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

/** Who asks: the namespace of a pod, and the cluster's domain. */
interface Reader {
  namespace: string;
  /** Empty: `cluster.local`. */
  clusterDomain: string;
}

/**
 * The lines of a hosts file that name the pods of all Services as the DNS of a cluster would, each Service being a
 * headless one. The short name is for pods of the same namespace. A pod with the Service as its subdomain has a name of
 * its own, too. Kubernetes: DNS-Based Service Discovery, specification 1.1.0
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

/** The hosts file with these lines in place of the lines that it had from Services. All its other lines stay. */
export function withServiceLines(hostsFile: string, lines: readonly string[]): string {
  const text = lines.length === 0 ? '' : `\n${begin}\n${lines.join('\n')}\n${end}\n`;
  return block.test(hostsFile) ? hostsFile.replace(block, () => text) : hostsFile + text;
}
