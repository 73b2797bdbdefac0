import type { Toleration } from 'kubernetes-types/core/v1.js';
import type { ObjectMeta, OwnerReference } from 'kubernetes-types/meta/v1.js';
import { decodeObject } from '../decoding/decode-object.ts';
import { manifestSchema } from '../decoding/manifest-schema.ts';
import { ManifestSyntaxError } from '../text/manifest-node.ts';
import { readJson } from '../text/read-json.ts';
import { ReadingBudget } from '../text/reading-budget.ts';
import type { Pod } from '../types.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import {
  checkDNS1123Label,
  checkDNS1123Subdomain,
  checkDNS1123SubdomainPrefix,
  checkQualifiedName,
} from '../values/names.ts';
import { eachContainer } from '../values/containers.ts';
import { validateAnnotations, validateLabels } from './labels.ts';
import { validateDescendingPath } from './paths.ts';
import { validateTolerations } from './validate-scheduling.ts';

/** Metadata of a pod. kubelet: validation.go ValidatePodSpecificAnnotations */
export function validateMetadata(errors: FieldErrors, pod: Pod): void {
  validateObjectMeta(errors, pod.metadata);
  validatePodAnnotations(errors, pod);
}

/** Metadata of any object in a namespace. kubelet: apimachinery/pkg/api/validation/objectmeta.go ValidateObjectMeta */
export function validateObjectMeta(
  errors: FieldErrors,
  metadata: ObjectMeta & { name: string; namespace: string },
  checkName = checkDNS1123Subdomain,
): void {
  if (metadata.generateName !== undefined) {
    errors.invalidIf(
      'metadata.generateName',
      metadata.generateName,
      checkDNS1123SubdomainPrefix(metadata.generateName),
    );
  }
  errors.invalidNameUnless('metadata.name', metadata.name, checkName);
  errors.invalidNameUnless('metadata.namespace', metadata.namespace, checkDNS1123Label);
  if ((metadata.generation ?? 0) < 0)
    errors.invalid('metadata.generation', metadata.generation, 'must not be negative');
  validateLabels(errors, 'metadata.labels', metadata.labels);
  validateAnnotations(errors, 'metadata.annotations', metadata.annotations);
  validateOwnerReferences(errors, metadata.ownerReferences ?? []);
  validateFinalizers(errors, metadata.finalizers ?? []);
  validateManagedFields(errors, metadata);
}

function validateOwnerReferences(errors: FieldErrors, references: readonly OwnerReference[]): void {
  const field = 'metadata.ownerReferences';
  for (const reference of references) {
    const { apiVersion, kind, name, uid } = reference;
    if (!/^(?:[^/]*\/)?[^/]+$/.test(apiVersion)) {
      errors.invalid(`${field}.apiVersion`, apiVersion, 'must name a version');
    }
    if (kind === '') errors.invalid(`${field}.kind`, kind, 'must not be empty');
    if (name === '') errors.invalid(`${field}.name`, name, 'must not be empty');
    if (uid === '') errors.invalid(`${field}.uid`, uid, 'must not be empty');
    if (apiVersion === 'v1' && kind === 'Event') errors.invalid(field, reference, 'an Event may not own anything');
  }
  const controllers = references.filter(({ controller }) => controller === true);
  for (const { name } of controllers.slice(1)) errors.invalid(field, name, 'only one owner may be the controller');
}

const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion'];

function validateFinalizers(errors: FieldErrors, finalizers: readonly string[]): void {
  const field = 'metadata.finalizers';
  for (const [index, name] of finalizers.entries()) {
    errors.invalidIf(field, name, checkQualifiedName(name));
    if (!name.includes('/') && !standardFinalizers.includes(name)) {
      errors.invalid(
        `${field}[${index}]`,
        name,
        'must be a standard finalizer or have a domain, as in example.com/name',
      );
    }
  }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.invalid(field, finalizers, 'may not hold both orphan and foregroundDeletion');
  }
}

const maxManagerLength = 128;

function validateManagedFields(errors: FieldErrors, metadata: ObjectMeta): void {
  for (const [index, entry] of (metadata.managedFields ?? []).entries()) {
    const field = `metadata.managedFields[${index}]`;
    const { fieldsType = '', manager = '', operation = '', subresource = '' } = entry;
    if (operation !== 'Apply' && operation !== 'Update') {
      errors.invalid(`${field}.operation`, operation, 'must be Apply or Update');
    }
    if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
      errors.invalid(`${field}.fieldsType`, fieldsType, 'must be FieldsV1');
    }
    if (manager.length > maxManagerLength)
      errors.tooLong(`${field}.manager`, `must be at most ${maxManagerLength} bytes`);
    if (subresource.length > 256) errors.tooLong(`${field}.subresource`, 'must be at most 256 bytes');
  }
}

const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/';
const seccompPodKey = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompPrefix = 'container.seccomp.security.alpha.kubernetes.io/';

function validatePodAnnotations(errors: FieldErrors, pod: Pod): void {
  const field = 'metadata.annotations';
  const annotations = pod.metadata.annotations ?? {};
  validateTolerationsAnnotation(errors, field, annotations['scheduler.alpha.kubernetes.io/tolerations'] ?? '');

  const deletionCost = annotations['controller.kubernetes.io/pod-deletion-cost'];
  if (deletionCost !== undefined && !isPlainInt32(deletionCost)) {
    errors.invalid(
      `${field}[controller.kubernetes.io/pod-deletion-cost]`,
      deletionCost,
      'must be an integer of 32 bits, with no plus and no leading zeros',
    );
  }

  for (const [key, value] of Object.entries(annotations)) {
    if (key === seccompPodKey || key.startsWith(seccompPrefix)) {
      validateSeccompProfile(errors, `${field}.${key}`, value);
    }
  }
  validateAppArmorAnnotations(errors, field, pod);
}

function validateAppArmorAnnotations(errors: FieldErrors, field: string, { metadata, spec }: Pod): void {
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => key.startsWith(appArmorPrefix));
  if (annotations.length === 0) return;
  const containerNames = new Set([...eachContainer(spec)].map(({ container }) => container.name));
  for (const [key, profile] of annotations) {
    const containerName = key.slice(appArmorPrefix.length);
    if (!containerNames.has(containerName)) {
      errors.invalid(`${field}[${key}]`, containerName, 'is not a container of this pod');
    }
    if (!/^(?:|runtime\/default|unconfined|localhost\/.*)$/s.test(profile)) {
      errors.invalid(`${field}[${key}]`, profile, 'must be runtime/default, unconfined or localhost/<name>');
    }
  }
}

function validateTolerationsAnnotation(errors: FieldErrors, field: string, text: string): void {
  if (text === '') return;
  const tolerations = decodeTolerations(text);
  if (tolerations) {
    validateTolerations(errors, `${field}.scheduler.alpha.kubernetes.io/tolerations`, tolerations);
  } else {
    errors.invalid(field, 'scheduler.alpha.kubernetes.io/tolerations', 'must be a JSON list of tolerations');
  }
}

/** Returns undefined if Go cannot decode the text as a list of tolerations. */
function decodeTolerations(text: string): Toleration[] | undefined {
  try {
    const { root: node } = readJson(text, new ReadingBudget());
    if (node.kind === 'null') return [];
    if (node.kind !== 'list') return undefined;
    const decoded = node.items.map((item) => decodeObject(manifestSchema, 'Toleration', item));
    const isBroken = decoded.some(({ findings }) => findings.some(({ severity }) => severity === 'error'));
    return isBroken ? undefined : decoded.map(({ value }) => value);
  } catch (error) {
    if (error instanceof ManifestSyntaxError) return undefined;
    throw error;
  }
}

function isPlainInt32(text: string): boolean {
  return /^(?:0|-?[1-9][0-9]{0,9})$/.test(text) && (Number(text) | 0) === Number(text);
}

function validateSeccompProfile(errors: FieldErrors, field: string, profile: string): void {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(profile)) return;
  if (profile.startsWith('localhost/')) validateDescendingPath(errors, field, profile.slice('localhost/'.length));
  else errors.invalid(field, profile, 'must be runtime/default, docker/default, unconfined or localhost/<path>');
}
