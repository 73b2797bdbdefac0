import type { ServicePort, ServiceSpec } from 'kubernetes-types/core/v1.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import {
  checkDNS1123Label,
  checkDNS1123Subdomain,
  checkPortName,
  checkPortNumber,
  checkStrictIP,
} from '../values/names.ts';
import { nodePortRange } from '../values/service.ts';
import { validateLabels } from './labels.ts';
import { validateObjectMeta } from './validate-metadata.ts';

const isIPv6 = (address: string): boolean => address.includes(':');

const types = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'];
export const protocols = ['TCP', 'UDP', 'SCTP'];
const families = ['IPv4', 'IPv6'];
const trafficDistributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode'];
const maxAffinitySeconds = 86_400;

/** kubelet: pkg/apis/core/validation/validation.go ValidateService */
export function validateService(
  errors: FieldErrors,
  metadata: ObjectMeta & { name: string; namespace: string },
  spec: ServiceSpec,
): void {
  if (metadata.name === '') errors.required('metadata.name', 'a name is needed');
  // It may begin with a digit since 1.36: RelaxedServiceNameValidation.
  else validateObjectMeta(errors, metadata, checkDNS1123Label);
  const { type = 'ClusterIP', selector, ports = [] } = spec;
  errors.unsupportedUnless('spec.type', type, types);
  validateLabels(errors, 'spec.selector', selector);
  validatePorts(errors, ports, type);
  validateAddresses(errors, spec);
  validateAffinity(errors, spec);
  validatePolicies(errors, spec);
  if (type !== 'ExternalName') return;
  const { externalName = '' } = spec;
  if (externalName === '') errors.required('spec.externalName');
  // An IPv6 address is not valid in a cluster, but hosts files support it.
  else if (checkStrictIP(externalName) !== undefined)
    errors.invalidIf('spec.externalName', externalName, checkDNS1123Subdomain(externalName.replace(/\.$/, '')));
}

function validatePorts(errors: FieldErrors, ports: readonly ServicePort[], type: string): void {
  const seen = new Set<string>();
  const once = (field: string, key: string, value: string): void => {
    if (seen.has(key)) errors.duplicate(field, value);
    seen.add(key);
  };
  for (const [index, port] of ports.entries()) {
    const path = `spec.ports[${index}]`;
    const { name = '', protocol = 'TCP', nodePort = 0 } = port;
    validatePort(errors, path, port);
    if (name !== '') once(`${path}.name`, `name ${name}`, name);
    else if (ports.length > 1) errors.required(`${path}.name`, 'each of several ports needs a name');
    once(path, `port ${protocol}/${port.port}`, `${port.port}/${protocol}`);
    if (nodePort === 0) continue;
    once(`${path}.nodePort`, `node ${protocol}/${nodePort}`, `${nodePort}`);
    if (type === 'ClusterIP')
      errors.forbidden(`${path}.nodePort`, 'may not be used when type is ClusterIP', 'Write type: NodePort.');
  }
}

function validatePort(
  errors: FieldErrors,
  path: string,
  { name = '', port, protocol, targetPort, nodePort = 0 }: ServicePort,
): void {
  if (name !== '') errors.invalidNameUnless(`${path}.name`, name, checkDNS1123Label);
  errors.invalidIf(`${path}.port`, port, checkPortNumber(port));
  // The API server replaces 0 and "" by the port.
  if (targetPort !== undefined && targetPort !== 0 && targetPort !== '') {
    const check = typeof targetPort === 'number' ? checkPortNumber(targetPort) : checkPortName(targetPort);
    errors.invalidIf(`${path}.targetPort`, targetPort, check);
  }
  if (protocol !== undefined) errors.unsupportedUnless(`${path}.protocol`, protocol, protocols);
  const { first, last } = nodePortRange;
  if (nodePort !== 0 && (nodePort < first || nodePort > last))
    errors.invalid(
      `${path}.nodePort`,
      nodePort,
      `must be between ${first} and ${last}`,
      'Leave it out to have one chosen. For another port of the node, set hostPort on a container.',
    );
}

function validateAddresses(errors: FieldErrors, spec: ServiceSpec): void {
  const { type = 'ClusterIP', clusterIP = '', clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec;
  for (const [index, family] of ipFamilies.entries()) {
    errors.unsupportedUnless(`spec.ipFamilies[${index}]`, family, families);
    if (ipFamilies.indexOf(family) !== index) errors.duplicate(`spec.ipFamilies[${index}]`, family);
  }
  if (ipFamilyPolicy !== undefined)
    errors.unsupportedUnless('spec.ipFamilyPolicy', ipFamilyPolicy, [
      'SingleStack',
      'PreferDualStack',
      'RequireDualStack',
    ]);
  if (type === 'ExternalName') {
    for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'] as const)
      if ((spec[field] ?? '').length > 0) errors.forbidden(`spec.${field}`, 'may not be set when type is ExternalName');
    return;
  }
  const addresses = clusterIP === '' || clusterIPs.length > 0 ? clusterIPs : [clusterIP];
  const field = (index: number): string => (clusterIPs.length > 0 ? `spec.clusterIPs[${index}]` : 'spec.clusterIP');
  if (clusterIPs.length > 0 && clusterIPs[0] !== clusterIP)
    errors.invalid('spec.clusterIPs', clusterIPs, 'the first one must be the same as clusterIP');
  if (addresses.length > 2) errors.tooMany('spec.clusterIPs', addresses.length, 2);
  if (addresses.includes('None')) {
    if (addresses.length > 1) errors.invalid('spec.clusterIPs', addresses, 'None must be the only value');
    if (type !== 'ClusterIP') errors.invalid(field(0), 'None', `may not be None for a ${type} Service`);
    return;
  }
  const isDual = ipFamilies.length > 1 || addresses.length > 1;
  if (isDual && ipFamilyPolicy === 'SingleStack')
    errors.invalid(
      'spec.ipFamilyPolicy',
      ipFamilyPolicy,
      'must be PreferDualStack or RequireDualStack for two families',
    );
  const [first = '', second] = addresses;
  if (second !== undefined && isIPv6(first) === isIPv6(second))
    errors.invalid('spec.clusterIPs', addresses, 'must have one address of each family');
  for (const [index, address] of addresses.entries()) {
    errors.invalidIf(field(index), address, checkStrictIP(address));
    const family = ipFamilies[index];
    if (family !== undefined && isIPv6(address) !== (family === 'IPv6'))
      errors.invalid(field(index), address, `must be an ${family} address, as ipFamilies[${index}] says`);
  }
}

function validateAffinity(errors: FieldErrors, { sessionAffinity, sessionAffinityConfig }: ServiceSpec): void {
  if (sessionAffinity !== undefined)
    errors.unsupportedUnless('spec.sessionAffinity', sessionAffinity, ['None', 'ClientIP']);
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  // The API server drops the configuration of another affinity.
  if (sessionAffinity !== 'ClientIP' || seconds === undefined) return;
  if (seconds < 1 || seconds > maxAffinitySeconds)
    errors.invalid(
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds',
      seconds,
      `must be between 1 and ${maxAffinitySeconds}`,
      'Leave it out for three hours. For no affinity, write sessionAffinity: None.',
    );
}

function validatePolicies(errors: FieldErrors, spec: ServiceSpec): void {
  const { type = 'ClusterIP', externalTrafficPolicy = '', externalIPs = [] } = spec;
  if (spec.allocateLoadBalancerNodePorts !== undefined && type !== 'LoadBalancer')
    errors.forbidden('spec.allocateLoadBalancerNodePorts', 'may only be used when type is LoadBalancer');
  for (const field of ['internalTrafficPolicy', 'externalTrafficPolicy'] as const) {
    const policy = spec[field];
    if (policy !== undefined) errors.unsupportedUnless(`spec.${field}`, policy, ['Cluster', 'Local']);
  }
  const isReachable =
    type === 'NodePort' || type === 'LoadBalancer' || (type === 'ClusterIP' && externalIPs.length > 0);
  if (spec.trafficDistribution !== undefined)
    errors.unsupportedUnless('spec.trafficDistribution', spec.trafficDistribution, trafficDistributions);
  if (externalTrafficPolicy !== '' && !isReachable)
    errors.invalid(
      'spec.externalTrafficPolicy',
      externalTrafficPolicy,
      'may only be set if other machines can reach the Service',
      'Leave it out, or write type: NodePort.',
    );
}
