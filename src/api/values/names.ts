/**
 * A check of a name or another single value. Each returns the error, or undefined if the value is valid.
 *
 * kubelet: apimachinery/pkg/util/validation/validation.go
 */
export type NameCheck = (value: string) => string | undefined;

const maxSubdomainLength = 253;

export const checkDNS1123Label: NameCheck = (value) =>
  tooLong(value, 63) ??
  unless(
    /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(value),
    'must consist of lower case letters, digits and "-", and start and end with a letter or digit',
  );

export const checkDNS1123Subdomain: NameCheck = (value) =>
  tooLong(value, maxSubdomainLength) ??
  unless(
    /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/.test(value),
    'must consist of lower case letters, digits, "-" and ".", and each part start and end with a letter or digit',
  );

/** A name that gets a suffix may end with a dash. kubelet: apimachinery/pkg/api/validation maskTrailingDash */
export const checkDNS1123SubdomainPrefix: NameCheck = (value) =>
  checkDNS1123Subdomain(value.length > 1 && value.endsWith('-') ? `${value.slice(0, -2)}a` : value);

export const checkDNS1035Label: NameCheck = (value) =>
  tooLong(value, 63) ??
  unless(
    /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(value),
    'must consist of lower case letters, digits and "-", start with a letter and end with a letter or digit',
  );

/** `name` or `dns-subdomain/name`: keys of labels, names of conditions. */
export const checkQualifiedName: NameCheck = (value) => {
  const parts = value.split('/');
  if (parts.length > 2) return 'must have at most one "/"';
  const name = parts.at(-1) ?? '';
  const prefix = parts.length === 2 ? (parts[0] ?? '') : undefined;
  if (prefix === '') return 'the part before "/" must not be empty';
  const prefixMessage = prefix === undefined ? undefined : checkDNS1123Subdomain(prefix);
  if (prefixMessage !== undefined) return `the part before "/" ${prefixMessage}`;
  return tooLong(name, 63) ?? unless(/^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name), nameRule);
};

/** Keys of annotations are compared without case. */
export const checkAnnotationKey: NameCheck = (value) => checkQualifiedName(value.toLowerCase());

export const checkLabelValue: NameCheck = (value) =>
  tooLong(value, 63) ?? unless(/^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/.test(value), nameRule);

export const checkEnvVarName: NameCheck = (value) =>
  unless(
    /^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(value),
    'must consist of letters, digits, "_", "-" and ".", and not start with a digit',
  ) ?? checkNoChangeOfDirectory(value);

/** Names of variables in pods. kubelet: apimachinery/pkg/util/validation/validation.go IsRelaxedEnvVarName */
export const checkRelaxedEnvVarName: NameCheck = (value) =>
  unless(/^[ -<>-~]+$/.test(value), 'must consist of printable ASCII characters other than "="');

/** Key of a ConfigMap or a Secret. */
export const checkConfigMapKey: NameCheck = (value) =>
  tooLong(value, 253) ??
  unless(/^[-._a-zA-Z0-9]+$/.test(value), 'must consist of letters, digits, "-", "_" and "."') ??
  checkNoChangeOfDirectory(value);

/** Name of a port, as IANA registers service names. */
export const checkPortName: NameCheck = (value) =>
  tooLong(value, 15) ??
  unless(/^[-a-z0-9]+$/.test(value), 'must consist of lower case letters, digits and "-"') ??
  unless(/[a-z]/.test(value), 'must contain at least one letter') ??
  unless(!value.includes('--'), 'must not contain "--"') ??
  unless(!/^-|-$/.test(value), 'must not start or end with "-"');

export const checkPortNumber = (value: number): string | undefined =>
  unless(value >= 1 && value <= 65_535, 'must be between 1 and 65535');

export const checkHTTPHeaderName: NameCheck = (value) =>
  unless(/^[-A-Za-z0-9]+$/.test(value), 'must consist of letters, digits and "-"');

export const checkSysctlName: NameCheck = (value) =>
  tooLong(value, 253) ??
  unless(
    /^(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/.test(value),
    'must consist of lower case parts with "." or "/" between them',
  );

/** A user or a group. */
export const checkID = (value: number): string | undefined =>
  unless(value >= 0 && value <= maxInt32, `must be between 0 and ${maxInt32}`);

/**
 * A DNS search domain may have "_" in its labels, and may be only a dot. kubelet: validation.go
 * ValidateDNS1123SubdomainWithUnderScore
 */
export const checkSearchDomain: NameCheck = (value) => {
  if (value === '.') return undefined;
  const domain = value.endsWith('.') ? value.slice(0, -1) : value;
  return (
    tooLong(domain, maxSubdomainLength) ??
    unless(
      /^_?[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:\._?[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*$/.test(domain),
      'must consist of lower case letters, digits, "-", "_" and ".", and each part start and end with a letter or digit but for one leading "_"',
    )
  );
};

/** An address that all programs read alike. kubelet: apimachinery/pkg/util/validation/ip.go IsValidIPForLegacyField */
export const checkStrictIP: NameCheck = (value) =>
  checkIP(value) ??
  unless(!/(^|[.:])0[0-9]+(\.|$)/.test(value), 'must not have leading zeros') ??
  unless(!isMappedIPv4(value), 'must not be an IPv4 address in IPv6 form');

/** An IPv4 address, leading zeros allowed, or an IPv6 address without a zone. kubelet: utils/net ParseIPSloppy */
export const checkIP: NameCheck = (value) =>
  unless(isIPv4(value) || isValidIPv6(value), 'must be a valid IP address, such as 10.9.8.7 or 2001:db8::ffff');

export const maxInt32 = 2 ** 31 - 1;

/** Suggests the name in lower case with dashes. Returns undefined if the check refuses that too. */
export function nearestValidName(name: string, check: NameCheck): string | undefined {
  if (name.length > maxSubdomainLength) return undefined;
  const written = name
    .toLowerCase()
    .replaceAll(/[^-.a-z0-9]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '');
  return [written, written.replaceAll('.', '-')].find(
    (candidate) => candidate !== '' && check(candidate) === undefined,
  );
}

const nameRule = 'must consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit';

function unless(isValid: boolean, message: string): string | undefined {
  return isValid ? undefined : message;
}

function tooLong(value: string, maxLength: number): string | undefined {
  // No character takes more than three bytes.
  if (value.length * 3 <= maxLength) return undefined;
  return unless(byteLength(value) <= maxLength, `must be no more than ${maxLength} bytes`);
}

/** Length in UTF-8, as Go counts. */
export function byteLength(value: string): number {
  return isAscii.test(value) ? value.length : encoder.encode(value).length;
}

/** True if the text has characters that end a line or control a terminal. */
export function hasControlCharacter(text: string): boolean {
  return controlCharacter.test(text);
}

// eslint-disable-next-line no-control-regex -- exactly these are searched for
const controlCharacter = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

// eslint-disable-next-line no-control-regex -- all characters that take one byte
const isAscii = /^[\u0000-\u007f]*$/;
const encoder = new TextEncoder();

function checkNoChangeOfDirectory(value: string): string | undefined {
  return unless(value !== '.' && !value.startsWith('..'), 'must not be "." or start with ".."');
}

/** True for `::ffff:…` with the bytes of an IPv4 address, in any spelling. */
function isMappedIPv4(value: string): boolean {
  return isValidIPv6(value) && new URL(`http://[${value}]`).hostname.startsWith('[::ffff:');
}

function isIPv4(value: string): boolean {
  const parts = value.split('.');
  return parts.length === 4 && parts.every((part) => /^[0-9]{1,10}$/.test(part) && Number(part) <= 255);
}

function isValidIPv6(value: string): boolean {
  const halves = value.split('::');
  if (halves.length > 2) return false;
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')));
  const last = groups.at(-1)?.at(-1);
  const endsWithIPv4 = last?.includes('.') ?? false;
  if (endsWithIPv4 && !isIPv4(last ?? '')) return false;
  const plain = groups.flat().slice(0, endsWithIPv4 ? -1 : undefined);
  const count = plain.length + (endsWithIPv4 ? 2 : 0);
  return plain.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group)) && (halves.length === 2 ? count <= 7 : count === 8);
}
