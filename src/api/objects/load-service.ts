import type { Service as RawService, ServicePort as RawPort } from 'kubernetes-types/core/v1.js';
import type { FieldProblem } from '../decoding/manifest-object.ts';
import { validateService } from '../validation/validate-service.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import type { IPFamily, Protocol, Service, ServicePort } from '../values/service.ts';

type RawSpec = NonNullable<RawService['spec']>;

/** kubelet: pkg/apis/core/v1/defaults.go SetDefaults_Service */
export function loadService(value: Record<string, unknown>, errors: FieldErrors, warnings: FieldProblem[]): Service {
  const { metadata, spec = {} } = value as RawService;
  const { name = '', namespace = 'default' } = metadata ?? {};
  validateService(errors, { ...metadata, name, namespace }, spec);
  const isNameWrong = errors.list.some(({ field }) => field === 'spec.externalName');
  if (!isNameWrong) warn(spec, warnings);
  const { type = 'ClusterIP', selector = {}, ports = [], publishNotReadyAddresses = false } = spec;
  const isExternal = type === 'ExternalName';
  const { clusterIP = '', clusterIPs = clusterIP === '' ? [] : [clusterIP], ipFamilies = [] } = spec;
  const isDual = ipFamilies.length > 1 || clusterIPs.length > 1;
  return {
    kind: 'Service',
    namespace,
    name,
    type: type as Service['type'],
    clusterIPs: isExternal ? [] : clusterIPs,
    ipFamilies: ipFamilies as IPFamily[],
    ipFamilyPolicy: (spec.ipFamilyPolicy ?? (isDual ? 'RequireDualStack' : 'SingleStack')) as Service['ipFamilyPolicy'],
    ports: isExternal ? [] : ports.map(toPort),
    selector: isExternal ? {} : selector,
    publishNotReadyAddresses,
    affinitySeconds:
      spec.sessionAffinity === 'ClientIP' ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800) : 0,
    internalTrafficPolicy: spec.internalTrafficPolicy === 'Local' ? 'Local' : 'Cluster',
    externalTrafficPolicy: spec.externalTrafficPolicy === 'Local' ? 'Local' : 'Cluster',
    choosesNodePorts: type === 'NodePort' || (type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false),
    externalName: isExternal ? (spec.externalName ?? '') : '',
  };
}

/** The API server replaces a targetPort of 0 or "" by the port. */
function toPort({ name = '', protocol = 'TCP', port, targetPort = port, nodePort = 0 }: RawPort): ServicePort {
  const isUnset = targetPort === 0 || targetPort === '';
  return { name, protocol: protocol as Protocol, port, targetPort: isUnset ? port : targetPort, nodePort };
}

/** Names what has no effect on one machine. */
function warn(spec: RawSpec, warnings: FieldProblem[]): void {
  const add = (field: string, message: string, hint?: string): void => {
    warnings.push({ field, message, severity: 'warning', ...(hint !== undefined && { hint }) });
  };
  const { type, externalName = '', ports = [], clusterIP, externalIPs = [], loadBalancerIP = '' } = spec;
  if (type === 'ExternalName') {
    if (!isNameOfService(externalName) && !isAddress(externalName)) {
      add(
        'spec.externalName',
        `A hosts file cannot contain an alias of another server, so ${externalName} has no effect`,
        'Write its address, or let the pods use its name.',
      );
    }
    return;
  }
  if (ports.length === 0 && clusterIP !== 'None')
    add(
      'spec',
      'A Service without ports forwards nothing: its name resolves to the addresses of its pods',
      'Write clusterIP: None.',
    );
  if (spec.sessionAffinityConfig !== undefined && spec.sessionAffinity !== 'ClientIP')
    add('spec.sessionAffinityConfig', 'No effect without affinity', 'Write sessionAffinity: ClientIP.');
  if (type === 'LoadBalancer')
    add(
      'spec.type',
      'There is no load balancer here: clients outside use the port of the node, as with type: NodePort',
    );
  if (externalIPs.length > 0)
    add('spec.externalIPs', 'externalIPs are not supported', 'Use type: NodePort, or hostPort on the container.');
  const ignored = loadBalancerFields.filter((field) => spec[field] !== undefined);
  if (loadBalancerIP !== '' || ignored.length > 0)
    add(
      'spec',
      `No effect without a load balancer: ${[...(loadBalancerIP === '' ? [] : ['loadBalancerIP']), ...ignored].join(', ')}`,
    );
}

const loadBalancerFields = ['loadBalancerSourceRanges', 'healthCheckNodePort', 'loadBalancerClass'] as const;

/** True for the name of a Service in the cluster, such as `db.shared.svc.cluster.local`. */
const isNameOfService = (name: string): boolean => /^[^.]+\.[^.]+\.svc(\.|$)/.test(name);
const isAddress = (name: string): boolean => /^[\d.]+$|:/.test(name);
