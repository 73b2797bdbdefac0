import type { Endpoints } from 'kubernetes-types/core/v1.js';
import type { EndpointSlice } from 'kubernetes-types/discovery/v1.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import { validateObjectMeta } from '../validation/validate-metadata.ts';
import { protocols } from '../validation/validate-service.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Label, checkPortNumber, checkStrictIP } from '../values/names.ts';
import type { EndpointPort, Protocol, ServiceAddresses } from '../values/service.ts';
import type { Loaders } from './loaders.ts';

const serviceLabel = 'kubernetes.io/service-name';

/** Addresses outside this node, for Services without a selector. */
export const serviceAddressLoaders: Loaders<ServiceAddresses> = {
  Endpoints: (value, errors) => {
    const { metadata, subsets = [] } = value as Endpoints;
    const named = validateName(errors, metadata);
    return {
      kind: 'Endpoints',
      ...named,
      service: named.name,
      subsets: subsets.map(({ addresses = [], ports = [] }, index) => ({
        ips: addresses.map(({ ip }, at) => checkedIP(errors, `subsets[${index}].addresses[${at}].ip`, ip)),
        ports: ports.map((port, at) => checkedPort(errors, `subsets[${index}].ports[${at}]`, port)),
      })),
    };
  },
  EndpointSlice: (value, errors) => {
    const { metadata, addressType, endpoints, ports = [] } = value as unknown as EndpointSlice;
    const named = validateName(errors, metadata);
    const service = metadata?.labels?.[serviceLabel] ?? '';
    if (service === '') errors.required(`metadata.labels[${serviceLabel}]`, 'must name the Service');
    errors.requiredOneOf('addressType', addressType, ['IPv4', 'IPv6']);
    const ips = endpoints.flatMap(({ addresses, conditions }, index) => {
      const checked = addresses.map((ip, at) => {
        const path = `endpoints[${index}].addresses[${at}]`;
        if (checkStrictIP(ip) === undefined && ip.includes(':') !== (addressType === 'IPv6'))
          errors.invalid(path, ip, `must be an ${addressType} address, as addressType says`);
        return checkedIP(errors, path, ip);
      });
      return conditions?.ready === false ? [] : checked;
    });
    const toPorts = ports.map((port, at) => checkedPort(errors, `ports[${at}]`, port));
    return { kind: 'EndpointSlice', ...named, service, subsets: [{ ips, ports: toPorts }] };
  },
};

function validateName(errors: FieldErrors, metadata: ObjectMeta = {}): { namespace: string; name: string } {
  const { name = '', namespace = 'default' } = metadata;
  if (name === '') errors.required('metadata.name', 'a name is needed');
  else validateObjectMeta(errors, { ...metadata, name, namespace });
  return { namespace, name };
}

function checkedPort(
  errors: FieldErrors,
  path: string,
  { name = '', protocol = 'TCP', port = 0 }: { name?: string; protocol?: string; port?: number },
): EndpointPort {
  if (name !== '') errors.invalidNameUnless(`${path}.name`, name, checkDNS1123Label);
  errors.invalidIf(`${path}.port`, port, checkPortNumber(port));
  errors.unsupportedUnless(`${path}.protocol`, protocol, protocols);
  return { name, protocol: protocol as Protocol, port };
}

/** Through a Service, pods must not reach what listens on the node's loopback, or metadata servers of clouds. */
function checkedIP(errors: FieldErrors, path: string, ip: string): string {
  const message = checkStrictIP(ip);
  errors.invalidIf(path, ip, message ?? (isSpecial(ip) ? 'may not be a loopback or link-local address' : undefined));
  return ip;
}

/** kubelet: pkg/apis/core/validation/validation.go ValidateNonSpecialIP */
const isSpecial = (ip: string): boolean =>
  ip.includes(':')
    ? /^([0:]*:[01]$|fe[89ab][0-9a-f]:|ff02:)/i.test(ip) || /^[0:]+$/.test(ip)
    : /^(127\.|169\.254\.|224\.0\.0\.|0\.0\.0\.0$)/.test(ip);
