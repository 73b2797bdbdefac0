import type { ServicePort, ServiceSpec } from 'kubernetes-types/core/v1.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { checkDNS1035Label, checkPortNumber } from '../values/names.ts';
import { validateLabels } from './labels.ts';
import { validateObjectMeta } from './validate-metadata.ts';

const types = ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'];

/** kubelet: pkg/apis/core/validation/validation.go ValidateService */
export function validateService(
  errors: FieldErrors,
  metadata: ObjectMeta & { name: string; namespace: string },
  { type, selector, ports = [] }: ServiceSpec,
): void {
  if (metadata.name === '') errors.required('metadata.name', 'a name is needed');
  else {
    validateObjectMeta(errors, metadata);
    errors.invalidNameUnless('metadata.name', metadata.name, checkDNS1035Label);
  }
  if (type !== undefined) errors.unsupportedUnless('spec.type', type, types);
  validateLabels(errors, 'spec.selector', selector);
  for (const [index, port] of ports.entries()) validatePort(errors, `spec.ports[${index}]`, port);
}

function validatePort(errors: FieldErrors, path: string, { port, protocol, targetPort }: ServicePort): void {
  errors.invalidIf(`${path}.port`, port, checkPortNumber(port));
  // The API server replaces 0 and "" by the port.
  if (typeof targetPort === 'number' && targetPort !== 0) {
    errors.invalidIf(`${path}.targetPort`, targetPort, checkPortNumber(targetPort));
  }
  if (protocol !== undefined) errors.unsupportedUnless(`${path}.protocol`, protocol, ['TCP', 'UDP', 'SCTP']);
}
