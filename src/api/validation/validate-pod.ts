import type { Pod, PodSpec } from '../types.ts';
import { defaultFeatureGates, type FeatureGates } from '../values/feature-gates.ts';
import { type FieldError, FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Label, checkDNS1123Subdomain, checkQualifiedName, maxInt32 } from '../values/names.ts';
import { validateAllContainers } from './validate-containers.ts';
import { validateDNS } from './validate-dns.ts';
import { validateMetadata } from './validate-metadata.ts';
import { validateOS } from './validate-os.ts';
import { forbidDisabledFields } from './disabled-fields.ts';
import { validatePodResources } from './validate-pod-resources.ts';
import { validateResources } from './validate-resources.ts';
import { validateScheduling } from './validate-scheduling.ts';
import { validatePodSecurity, validateProfileAnnotations } from './validate-security.ts';
import { validateVolumes } from './validate-volumes.ts';

export type { FieldError } from '../values/field-errors.ts';

/**
 * Returns every rule of the Pod API that a static pod breaks, with the field paths of the API server. The pod must have
 * its defaults and its static identity.
 *
 * kubelet: pkg/apis/core/validation/validation.go ValidatePodCreate with the options that the gates give
 */
export function validatePod(pod: Pod, gates: FeatureGates = defaultFeatureGates): FieldError[] {
  const errors = new FieldErrors();
  const { spec } = pod;
  validateMetadata(errors, pod);
  const volumes = validateVolumes(errors, spec, pod.metadata.name);
  validateResourceClaims(errors, spec);
  validateAllContainers(errors, spec, volumes);
  validatePodResources(errors, spec);
  forbidDisabledFields(errors, spec, gates);
  errors.requiredOneOf('spec.restartPolicy', spec.restartPolicy, ['Always', 'OnFailure', 'Never']);
  validateNames(errors, spec);
  validateHostnameOverride(errors, spec);
  validateDNS(errors, spec, gates);
  validateScheduling(errors, spec);
  validatePodSecurity(errors, spec);
  validateDeadline(errors, spec);
  validateReadinessGates(errors, spec);
  if (spec.preemptionPolicy !== undefined) {
    errors.requiredOneOf('spec.preemptionPolicy', spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  }
  if (spec.overhead) validateResources(errors, 'spec.overhead', { limits: spec.overhead }, new Set());
  validateOS(errors, spec);
  validateServiceAccountTokens(errors, spec);
  validateProfileAnnotations(errors, pod);
  if (pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined && spec.resourceClaims) {
    errors.forbidden('[]', 'static pods do not support resourceClaims');
  }
  return errors.list;
}

const namedObjects = {
  hostname: checkDNS1123Label,
  nodeName: checkDNS1123Subdomain,
  priorityClassName: checkDNS1123Subdomain,
  runtimeClassName: checkDNS1123Subdomain,
  serviceAccountName: checkDNS1123Subdomain,
  subdomain: checkDNS1123Label,
} as const;

function validateNames(errors: FieldErrors, spec: PodSpec): void {
  for (const [name, check] of Object.entries(namedObjects)) {
    const value = spec[name as keyof typeof namedObjects];
    if (value !== undefined) errors.invalidNameUnless(`spec.${name}`, value, check);
  }
}

const maxHostnameLength = 64;

function validateHostnameOverride(errors: FieldErrors, spec: PodSpec): void {
  const { hostnameOverride: name } = spec;
  if (name === undefined) return;
  const field = 'spec.hostnameOverride';
  if (spec.setHostnameAsFQDN) errors.forbidden(field, 'cannot be combined with setHostnameAsFQDN');
  if (spec.hostNetwork) errors.forbidden(field, 'cannot be combined with hostNetwork');
  if (name.length > maxHostnameLength) errors.tooLong(field, `must be at most ${maxHostnameLength} characters`);
  errors.invalidNameUnless(field, name, checkDNS1123Subdomain);
}

function validateDeadline(errors: FieldErrors, { activeDeadlineSeconds }: PodSpec): void {
  if (activeDeadlineSeconds !== undefined && (activeDeadlineSeconds < 1 || activeDeadlineSeconds > maxInt32)) {
    errors.invalid('spec.activeDeadlineSeconds', activeDeadlineSeconds, `must be between 1 and ${maxInt32}`);
  }
}

function validateReadinessGates(errors: FieldErrors, spec: PodSpec): void {
  for (const [index, { conditionType }] of (spec.readinessGates ?? []).entries()) {
    errors.invalidIf(`spec.readinessGates[${index}].conditionType`, conditionType, checkQualifiedName(conditionType));
  }
}

function validateResourceClaims(errors: FieldErrors, spec: PodSpec): void {
  const names = new Set<string>();
  for (const [index, claim] of (spec.resourceClaims ?? []).entries()) {
    const field = `spec.resourceClaims[${index}]`;
    if (claim.name === '') errors.required(`${field}.name`);
    else if (names.has(claim.name)) errors.duplicate(`${field}.name`, claim.name);
    else errors.invalidIf(`${field}.name`, claim.name, checkDNS1123Label(claim.name));
    names.add(claim.name);
    const { resourceClaimName, resourceClaimTemplateName } = claim;
    if ((resourceClaimName === undefined) === (resourceClaimTemplateName === undefined)) {
      errors.invalid(field, claim, 'needs exactly one of resourceClaimName and resourceClaimTemplateName');
    }
    for (const [name, value] of Object.entries({ resourceClaimName, resourceClaimTemplateName })) {
      if (value !== undefined) errors.invalidIf(`${field}.${name}`, value, checkDNS1123Subdomain(value));
    }
  }
}

function validateServiceAccountTokens(errors: FieldErrors, spec: PodSpec): void {
  if (spec.serviceAccountName !== undefined) return;
  for (const [index, { projected }] of (spec.volumes ?? []).entries()) {
    for (const [at, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
      if (serviceAccountToken) {
        errors.forbidden(
          `spec.volumes[${index}].projected.sources[${at}].serviceAccountToken`,
          'needs spec.serviceAccountName',
          'Remove it: with an account the pod would not start either, because tokens need an API server.',
        );
      }
    }
  }
}
