import type * as core from 'kubernetes-types/core/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Subdomain, checkQualifiedName } from '../values/names.ts';
import { validateLabelSelector } from './labels.ts';
import { validateFileMode, validateFilePath } from './paths.ts';
import { validateDownwardFile } from './validate-env.ts';

/** kubelet: validation.go validateProjectedVolumeSource */
export function validateProjectedVolume(errors: FieldErrors, field: string, volume: core.ProjectedVolumeSource): void {
  validateFileMode(errors, `${field}.defaultMode`, volume.defaultMode);
  const paths = new Set<string>();
  const claimPath = (path: string): void => {
    if (paths.has(path)) errors.invalid(field, path, 'two sources write this path');
    paths.add(path);
  };
  for (const [index, source] of (volume.sources ?? []).entries()) {
    validateProjection(errors, field, `${field}.sources[${index}]`, source, claimPath);
  }
}

function validateProjection(
  errors: FieldErrors,
  volumeField: string,
  field: string,
  source: core.VolumeProjection,
  claimPath: (path: string) => void,
): void {
  for (const name of ['secret', 'configMap'] as const) {
    const projection = source[name];
    if (!projection) continue;
    if (!projection.name) errors.required(`${field}.${name}.name`);
    validateKeysToPaths(errors, `${field}.${name}.items`, projection.items ?? []);
    for (const { path } of projection.items ?? []) if (path !== '') claimPath(path);
  }
  for (const file of source.downwardAPI?.items ?? []) {
    validateDownwardFile(errors, `${field}.downwardAPI`, file);
    if (file.path !== '') claimPath(file.path);
  }
  if (source.serviceAccountToken) {
    validateToken(errors, volumeField, `${field}.serviceAccountToken`, source.serviceAccountToken);
  }
  if (source.clusterTrustBundle) {
    validateTrustBundle(errors, `${field}.clusterTrustBundle`, source.clusterTrustBundle);
    claimPath(source.clusterTrustBundle.path);
  }
  if (source.podCertificate) {
    validatePodCertificate(errors, `${field}.podCertificate`, source.podCertificate, claimPath);
  }
  if (Object.keys(source).length > 1) errors.forbidden(field, 'may not specify more than one kind of source');
}

function validateToken(
  errors: FieldErrors,
  volumeField: string,
  field: string,
  { expirationSeconds = 3600, path }: core.ServiceAccountTokenProjection,
): void {
  if (expirationSeconds < 600) {
    errors.invalid(`${field}.expirationSeconds`, expirationSeconds, 'must be at least 10 minutes');
  }
  if (expirationSeconds > 2 ** 32) {
    errors.invalid(`${field}.expirationSeconds`, expirationSeconds, 'must be at most 2^32 seconds');
  }
  // The API server's errors about the path name the volume.
  if (path === '') errors.required(`${volumeField}.path`);
  else validateFilePath(errors, `${volumeField}.path`, path);
}

function validateTrustBundle(errors: FieldErrors, field: string, bundle: core.ClusterTrustBundleProjection): void {
  const { labelSelector, name, path, signerName } = bundle;
  if (name !== undefined && signerName !== undefined) {
    errors.invalid(field, bundle, 'may name only one of name and signerName');
  } else if (name !== undefined) {
    if (name === '') errors.required(`${field}.name`);
    errors.invalidIf(`${field}.name`, name, checkDNS1123Subdomain(name.slice(name.lastIndexOf(':') + 1)));
    if (labelSelector) errors.invalid(`${field}.labelSelector`, labelSelector, 'must not be set with name');
  } else if (signerName !== undefined) {
    validateSignerName(errors, `${field}.signerName`, signerName);
    validateLabelSelector(errors, `${field}.labelSelector`, labelSelector);
  } else {
    errors.required(field, 'needs name or signerName');
  }
  if (path === '') errors.required(`${field}.path`);
  validateFilePath(errors, `${field}.path`, path);
}

const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];
const minCertificateSeconds = 3600;
const maxCertificateSeconds = 91 * 86_400;
const certificatePaths = ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const;

/** kubelet: validation.go validateProjectionSources */
function validatePodCertificate(
  errors: FieldErrors,
  field: string,
  certificate: core.PodCertificateProjection,
  claimPath: (path: string) => void,
): void {
  const { keyType = '', maxExpirationSeconds: seconds, signerName = '', userAnnotations = {} } = certificate;
  validateSignerName(errors, `${field}.signerName`, signerName);
  errors.unsupportedUnless(`${field}.keyType`, keyType, keyTypes);
  if (seconds !== undefined && (seconds < minCertificateSeconds || seconds > maxCertificateSeconds)) {
    const range = `between ${minCertificateSeconds} and ${maxCertificateSeconds}`;
    errors.invalid(`${field}.maxExpirationSeconds`, seconds, `must be ${range}`);
  }
  const written = certificatePaths.filter((name) => (certificate[name] ?? '') !== '');
  if (written.length === 0) errors.required(field, `needs one of ${certificatePaths.join(', ')}`);
  for (const name of written) {
    const path = certificate[name] ?? '';
    validateFilePath(errors, `${field}.${name}`, path);
    claimPath(path);
  }
  for (const key of Object.keys(userAnnotations)) {
    const message =
      checkQualifiedName(key) ?? (key.includes('/') ? undefined : 'must have a domain, as in example.com/a');
    errors.invalidIf(`${field}.userAnnotations`, key, message);
  }
}

function validateSignerName(errors: FieldErrors, field: string, signerName: string): void {
  if (signerName === '') {
    errors.required(field);
    return;
  }
  const [domain = '', path = '', ...others] = signerName.split('/');
  const isValid =
    others.length === 0 &&
    domain.includes('.') &&
    checkDNS1123Subdomain(domain) === undefined &&
    checkDNS1123Subdomain(path) === undefined;
  if (!isValid) errors.invalid(field, signerName, 'must be a domain and a path, as in example.com/signer');
}

/** kubelet: validation.go validateKeyToPath */
export function validateKeysToPaths(errors: FieldErrors, field: string, items: readonly core.KeyToPath[]): void {
  for (const [index, { key, mode, path }] of items.entries()) {
    if (key === '') errors.required(`${field}[${index}].key`);
    if (path === '') errors.required(`${field}[${index}].path`);
    validateFilePath(errors, `${field}[${index}].path`, path);
    validateFileMode(errors, `${field}[${index}].mode`, mode);
  }
}
