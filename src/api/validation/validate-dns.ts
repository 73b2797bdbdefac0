import type * as core from 'kubernetes-types/core/v1.js';
import type { FeatureGates } from '../values/feature-gates.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import {
  byteLength,
  checkDNS1123Subdomain,
  checkIP,
  checkSearchDomain,
  checkStrictIP,
  type NameCheck,
} from '../values/names.ts';

const maxNameservers = 3;
const maxSearches = 32;
const maxSearchListBytes = 2048;

/** Host names and DNS. kubelet: validation.go validateDNSPolicy, validatePodDNSConfig, ValidateHostAliases */
export function validateDNS(errors: FieldErrors, spec: core.PodSpec, gates: FeatureGates): void {
  const checkAddress = gates.StrictIPCIDRValidation ? checkStrictIP : checkIP;
  errors.requiredOneOf('spec.dnsPolicy', spec.dnsPolicy, [
    'ClusterFirstWithHostNet',
    'ClusterFirst',
    'Default',
    'None',
  ]);
  validateConfig(errors, 'spec.dnsConfig', spec, checkAddress);
  for (const [index, { hostnames = [], ip = '' }] of (spec.hostAliases ?? []).entries()) {
    const field = `spec.hostAliases[${index}]`;
    errors.invalidIf(`${field}.ip`, ip, checkAddress(ip));
    for (const [at, name] of hostnames.entries()) {
      errors.invalidIf(`${field}.hostnames[${at}]`, name, checkDNS1123Subdomain(name));
    }
  }
}

function validateConfig(
  errors: FieldErrors,
  field: string,
  { dnsConfig, dnsPolicy }: core.PodSpec,
  checkAddress: NameCheck,
): void {
  const { nameservers = [], options = [], searches = [] } = dnsConfig ?? {};
  if (dnsPolicy === 'None' && nameservers.length === 0) {
    errors.required(dnsConfig ? `${field}.nameservers` : field, 'dnsPolicy None needs a name server');
    return;
  }
  if (nameservers.length > maxNameservers) {
    errors.invalid(`${field}.nameservers`, nameservers, `must not be more than ${maxNameservers}`);
  }
  for (const [index, address] of nameservers.entries()) {
    errors.invalidIf(`${field}.nameservers[${index}]`, address, checkAddress(address));
  }
  if (searches.length > maxSearches)
    errors.invalid(`${field}.searches`, searches, `must not be more than ${maxSearches}`);
  if (byteLength(searches.join(' ')) > maxSearchListBytes) {
    errors.invalid(`${field}.searches`, searches, `must not be more than ${maxSearchListBytes} bytes in all`);
  }
  for (const [index, search] of searches.entries()) {
    errors.invalidIf(`${field}.searches[${index}]`, search, checkSearchDomain(search));
  }
  for (const [index, { name = '' }] of options.entries()) {
    if (name === '') errors.required(`${field}.options[${index}]`, 'needs a name');
  }
}
