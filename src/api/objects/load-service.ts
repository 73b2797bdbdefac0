import type { Service as RawService, ServicePort } from 'kubernetes-types/core/v1.js';
import type { FieldProblem } from '../decoding/manifest-object.ts';
import { validateService } from '../validation/validate-service.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import type { Service } from '../values/service.ts';

/**
 * The names that a Service gives to pods. Every Service is treated as headless: nothing forwards connections, so it has
 * neither an address nor ports.
 */
export function loadService(value: Record<string, unknown>, errors: FieldErrors, warnings: FieldProblem[]): Service {
  const { metadata, spec = {} } = value as RawService;
  const { name = '', namespace = 'default' } = metadata ?? {};
  validateService(errors, { ...metadata, name, namespace }, spec);
  const { type = 'ClusterIP', selector = {}, ports = [], publishNotReadyAddresses = false } = spec;
  const warn = (field: string, message: string, hint?: string): void => {
    warnings.push({ field, message, severity: 'warning', ...(hint !== undefined && { hint }) });
  };
  const selects = Object.keys(selector).length > 0 && type !== 'ExternalName';
  if (type === 'ExternalName')
    warn('spec.type', 'An ExternalName Service names nothing here', 'Give the pods hostAliases.');
  else if (!selects)
    warn('spec', 'A Service without a selector names no pods', 'Write the labels of its pods as spec.selector.');
  if (type === 'NodePort' || type === 'LoadBalancer') {
    warn('spec.type', `type: ${type} opens no port here`, 'Set hostPort on the container.');
  }
  for (const [index, port] of ports.entries()) {
    const target = targetOf(port);
    if (target === undefined) continue;
    warn(`spec.ports[${index}].port`, `Port ${port.port} is not forwarded: clients connect to ${target} of the pods`);
  }
  const ignored = ignoredFields(spec);
  for (const severity of ['warning', 'note'] as const) {
    const fields = ignored.filter((field) => missedFields.has(field) === (severity === 'warning'));
    const message = `Without a proxy these fields have no effect: ${fields.join(', ')}`;
    if (fields.length > 0) warnings.push({ field: 'spec', message, severity });
  }
  return { kind: 'Service', namespace, name, selector: selects ? selector : {}, publishNotReadyAddresses };
}

/** The port of the pods, as text. Returns undefined if it equals the port of the Service. */
function targetOf({ port, targetPort = port }: ServicePort): string | undefined {
  if (targetPort === port || targetPort === 0 || targetPort === '') return undefined;
  return typeof targetPort === 'number' ? `port ${targetPort}` : `the container port "${targetPort}"`;
}

/** Fields that take effect, or that have a separate problem message. */
const namedFields: ReadonlySet<string> = new Set([
  'ports',
  'publishNotReadyAddresses',
  'selector',
  'type',
  // It is used only with ExternalName.
  'externalName',
]);

/** Fields by which clients reach pods in a cluster. The others concern addresses that a Service does not have here. */
const missedFields: ReadonlySet<string> = new Set(['externalIPs', 'sessionAffinity']);

/** Values that an API server writes into each Service. Ignoring them loses nothing. */
function ignoredFields(spec: NonNullable<RawService['spec']>): string[] {
  const usual: Record<string, unknown> = {
    sessionAffinity: 'None',
    internalTrafficPolicy: 'Cluster',
    clusterIP: 'None',
  };
  return Object.entries(spec)
    .filter(([field, value]) => !namedFields.has(field) && value !== usual[field] && value !== '')
    .map(([field]) => field);
}
