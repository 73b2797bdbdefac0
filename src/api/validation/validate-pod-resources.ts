import type * as core from 'kubernetes-types/core/v1.js';
import type { ResourceList } from '../types.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import { isPodLevelResource } from '../values/pod-level-resources.ts';
import { compareQuantities, formatQuantity, toQuantity } from '../values/quantity.ts';
import { containerTotals, type ResourceTotals } from '../values/resource-totals.ts';
import { validateResources } from './validate-resources.ts';

const podField = 'spec.resources';

/** Resources of the whole pod. kubelet: validation.go validatePodResources, validatePodResourceConsistency */
export function validatePodResources(errors: FieldErrors, spec: core.PodSpec): void {
  const { resources } = spec;
  if (!resources) return;
  const { claims, limits = {}, requests = {} } = resources;
  if (spec.os?.name === 'windows') errors.forbidden(podField, 'cannot be set for a windows pod');
  if (claims) errors.forbidden(`${podField}.claims`, 'a pod as a whole has no claims');
  const claimNames = new Set((spec.resourceClaims ?? []).map(({ name }) => name));
  validateResources(errors, podField, resources, claimNames, checkPodLevelName);
  validateContainerSum(errors, `${podField}.requests`, containerTotals(spec, 'requests'), requests);
  const hugePages = [...containerTotals(spec, 'limits')].filter(([name]) => name.startsWith('hugepages-'));
  validateContainerSum(errors, `${podField}.limits`, new Map(hugePages), limits);
  for (const [index, container] of spec.containers.entries()) {
    validateContainerLimits(errors, `${podField}.containers[${index}]`, container.resources?.limits ?? {}, limits);
  }
}

function checkPodLevelName(errors: FieldErrors, field: string, name: string): void {
  if (!isPodLevelResource(name)) errors.unsupportedUnless(field, name, ['cpu', 'memory', 'hugepages-<size>']);
}

/** A resource that the pod does not name may have any amount. */
function validateContainerSum(errors: FieldErrors, field: string, sum: ResourceTotals, ofPod: ResourceList): void {
  for (const [name, amount] of sum) {
    const limit = ofPod[name];
    if (limit === undefined || compareQuantities(amount, toQuantity(limit)) <= 0) continue;
    errors.invalid(`${field}[${name}]`, limit, `must be at least the ${formatQuantity(amount)} of its containers`);
  }
}

function validateContainerLimits(errors: FieldErrors, field: string, own: ResourceList, ofPod: ResourceList): void {
  for (const [name, amount] of Object.entries(own)) {
    const limit = ofPod[name];
    if (limit === undefined || compareQuantities(toQuantity(amount), toQuantity(limit)) <= 0) continue;
    errors.invalid(`${field}[${name}].limits`, amount, `must be at most the pod's limit of ${limit}`);
  }
}
