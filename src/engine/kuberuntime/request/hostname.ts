import type { Pod } from '../../../api/types.ts';
import { namedDomain } from '../../../api/values/service.ts';
import { UserError } from '../../../errors.ts';

/** A pod's host name and, with a subdomain, its domain. */
export interface PodHostname {
  hostname: string;
  /** May be empty. */
  domain: string;
}

const maxHostnameLength = 63;
/** The kernel's limit for a node name. */
const maxKernelHostnameLength = 64;

/** kubelet: kubelet_pods.go GeneratePodHostNameAndDomain */
export function podHostname({ metadata, spec }: Pod, clusterDomain: string): PodHostname {
  const { hostname = '', hostnameOverride } = spec;
  if (hostnameOverride !== undefined) return { hostname: truncateHostname(hostnameOverride), domain: '' };
  return {
    hostname: truncateHostname(hostname === '' ? metadata.name : hostname),
    domain: spec.subdomain ? `${spec.subdomain}.${metadata.namespace}.svc.${namedDomain(clusterDomain)}` : '',
  };
}

/** The kernel's host name, with the domain if the pod requests it. kubelet: util/util.go GetNodenameForKernel */
export function kernelHostname({ spec }: Pod, { hostname, domain }: PodHostname): string {
  if (!spec.setHostnameAsFQDN || domain === '') return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length > maxKernelHostnameLength) {
    throw new UserError(
      `spec.setHostnameAsFQDN: "${fqdn}" has ${fqdn.length} characters; a host name may have at most ${maxKernelHostnameLength}`,
      { hint: 'Shorten spec.hostname, spec.subdomain or the namespace, or remove setHostnameAsFQDN.' },
    );
  }
  return fqdn;
}

function truncateHostname(name: string): string {
  if (name.length <= maxHostnameLength) return name;
  const hostname = name.slice(0, maxHostnameLength).replace(/[-.]+$/, '');
  if (hostname === '') {
    throw new UserError(`metadata.name "${name}" cannot be used as a host name`, { hint: 'Set spec.hostname.' });
  }
  return hostname;
}
