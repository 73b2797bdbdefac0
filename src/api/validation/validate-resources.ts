import type * as core from 'kubernetes-types/core/v1.js';
import { compareQuantities, parseQuantity, quantityMilliValue, quantityValue, toQuantity } from '../values/quantity.ts';
import type { ResourceList } from '../types.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Label, checkQualifiedName } from '../values/names.ts';

/**
 * Requests, limits and claims of a container. kubelet: validation.go ValidateContainerResourceRequirements
 */
export function validateResources(
  errors: FieldErrors,
  field: string,
  resources: core.ResourceRequirements,
  claimNames: ReadonlySet<string>,
  checkName: NameRule = validateResourceName,
): void {
  const limits: ResourceList = resources.limits ?? {};
  const requests: ResourceList = resources.requests ?? {};
  for (const [name, limit] of Object.entries(limits)) {
    checkName(errors, `${field}.limits[${name}]`, name);
    validateAmount(errors, `${field}.limits[${name}]`, name, limit);
  }
  for (const [name, request] of Object.entries(requests)) {
    checkName(errors, `${field}.requests[${name}]`, name);
    validateAmount(errors, `${field}.requests[${name}]`, name, request);
    validateAgainstLimit(errors, field, name, request, limits[name]);
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')) {
    errors.forbidden(field, 'huge pages need a request or limit of cpu or memory');
  }
  validateClaims(errors, `${field}.claims`, resources.claims ?? [], claimNames);
}

/** Adds an error if the resource is not allowed. */
type NameRule = (errors: FieldErrors, field: string, name: string) => void;

function validateResourceName(errors: FieldErrors, field: string, name: string): void {
  errors.invalidIf(field, name, checkResourceName(name));
}

const hugePagesPrefix = 'hugepages-';

function validateAmount(errors: FieldErrors, field: string, name: string, text: string): void {
  const quantity = toQuantity(text);
  if (quantity.nanos < 0n) errors.invalid(field, text, 'must not be negative');
  if (isExtended(name) && quantityMilliValue(quantity) % 1000n !== 0n)
    errors.invalid(field, text, 'must be an integer');
  if (!isHugePages(name)) return;
  const pageSize = quantityValue(parseQuantity(name.slice(hugePagesPrefix.length)) ?? toQuantity('0'));
  if (pageSize <= 0n || quantityValue(quantity) % pageSize !== 0n) {
    errors.invalid(field, text, 'must be a multiple of the page size');
  }
}

function checkResourceName(name: string): string | undefined {
  const message = checkQualifiedName(name);
  if (message !== undefined) return message;
  if (name.includes('/')) {
    return isNative(name) || isExtended(name) ? undefined : 'is not the name of an extended resource';
  }
  const isStandard = ['cpu', 'memory', 'ephemeral-storage'].includes(name) || isHugePages(name);
  return isStandard ? undefined : 'must be cpu, memory, ephemeral-storage, hugepages-<size> or have a domain';
}

/** A resource that cannot be overcommitted needs a limit that equals its request. */
function validateAgainstLimit(
  errors: FieldErrors,
  field: string,
  name: string,
  request: string,
  limit: string | undefined,
): void {
  const mayOvercommit = isNative(name) && !isHugePages(name);
  if (limit === undefined) {
    if (!mayOvercommit) errors.required(`${field}.limits`, `${name} needs a limit`);
    return;
  }
  const compared = compareQuantities(toQuantity(request), toQuantity(limit));
  if (!mayOvercommit && compared !== 0) {
    errors.invalid(`${field}.requests`, request, `must be equal to the ${name} limit of ${limit}`);
  } else if (compared > 0) {
    errors.invalid(`${field}.requests`, request, `must be less than or equal to the ${name} limit of ${limit}`);
  }
}

function validateClaims(
  errors: FieldErrors,
  field: string,
  claims: readonly core.ResourceClaim[],
  claimNames: ReadonlySet<string>,
): void {
  // A claim without a request name stands for all its requests.
  const requestsSeen = new Map<string, Set<string>>();
  for (const [index, { name, request = '' }] of claims.entries()) {
    const path = `${field}[${index}]`;
    if (name === '') {
      errors.required(path);
      continue;
    }
    const seen = requestsSeen.get(name) ?? new Set<string>();
    const overlaps = seen.has('') || seen.has(request) || (request === '' && seen.size > 0);
    if (overlaps) errors.duplicate(path, name);
    else if (request !== '') errors.invalidIf(`${path}.request`, request, checkDNS1123Label(request));
    requestsSeen.set(name, seen.add(request));
    if (!claimNames.has(name)) errors.notFound(path, name);
  }
}

function isHugePages(name: string): boolean {
  return name.startsWith(hugePagesPrefix);
}

function isNative(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/');
}

/** Resources of devices, as in `example.com/gpu`. kubelet: core/v1/helper IsExtendedResourceName */
function isExtended(name: string): boolean {
  return !isNative(name) && !name.startsWith('requests.') && checkQualifiedName(`requests.${name}`) === undefined;
}
