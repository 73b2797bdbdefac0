/** The value of a YAML scalar. */
export type ResolvedScalar =
  | { kind: 'null' }
  | { kind: 'bool'; value: boolean }
  /** A number as JSON text, in the way Go's encoder writes it. */
  | { kind: 'number'; text: string }
  /** Infinity or NaN: YAML has them, JSON does not. */
  | { kind: 'notFinite'; text: string }
  | { kind: 'string'; value: string };

/**
 * Resolves a plain YAML scalar as the kubelet's YAML reader does: YAML 1.1 booleans, `0` and `0o` octal, `_` inside
 * numbers, no base 60; dates stay strings.
 *
 * sigs.k8s.io/yaml: goyaml.v2/resolve.go
 */
export function resolveYamlScalar(text: string): ResolvedScalar {
  const word = words.get(text);
  if (word !== undefined) return word;
  // Fast path: most scalars begin with a letter, which sorts after all signs and digits.
  if (text.charAt(0) > '9') return string(text);
  if (text.startsWith('.')) return /^\.[0-9]+(?:[eE][-+]?[0-9]+)?$/.test(text) ? resolveFloat(text) : string(text);
  if (!/^[-+0-9]/.test(text)) return string(text);
  if (/^[1-9][0-9]{0,14}$/.test(text)) return { kind: 'number', text };
  const plain = text.replaceAll('_', '');
  const integer = parseInteger(plain);
  if (integer !== undefined) return { kind: 'number', text: integer.toString() };
  return floatPattern.test(plain) ? resolveFloat(plain) : string(text);
}

/** The text of a YAML number that is used as a key. sigs.k8s.io/yaml: yaml.go convertToJSONableObject */
export function yamlNumberAsKey(numberText: string): string {
  if (/^-?[0-9]+$/.test(numberText) && isWithinInt64OrUint64(BigInt(numberText))) return numberText;
  // Go formats a float key as a 32-bit float, with an exponent outside 1e-4 … 1e6.
  const value = Math.fround(Number(numberText));
  const [mantissa = '', exponent = '0'] = shortestFloat32(value).toExponential().split('e');
  if (Number(exponent) >= -4 && Number(exponent) < 6) return String(shortestFloat32(value));
  return `${mantissa}e${exponent.slice(0, 1)}${exponent.slice(1).padStart(2, '0')}`;
}

const string = (value: string): ResolvedScalar => ({ kind: 'string', value });

const words = new Map<string, ResolvedScalar>([
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, { kind: 'null' }] as const),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map(
    (word) => [word, { kind: 'bool', value: true }] as const,
  ),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map(
    (word) => [word, { kind: 'bool', value: false }] as const,
  ),
  ...[
    '.nan',
    '.NaN',
    '.NAN',
    ...['', '+', '-'].flatMap((sign) => ['.inf', '.Inf', '.INF'].map((inf) => sign + inf)),
  ].map((word) => [word, { kind: 'notFinite', text: word }] as const),
]);

const floatPattern = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const integerPatterns: readonly (readonly [RegExp, string])[] = [
  [/^([-+]?)0[xX]([0-9a-fA-F]+)$/, '0x'],
  [/^([-+]?)0[oO]?([0-7]+)$/, '0o'],
  [/^([-+]?)0[bB]([01]+)$/, '0b'],
  [/^([-+]?)(0|[1-9][0-9]*)$/, ''],
];

/**
 * Parses as Go's ParseInt and ParseUint with base 0. Returns undefined if 64 bits are too few; the scalar may then be a
 * float.
 */
function parseInteger(text: string): bigint | undefined {
  for (const [pattern, prefix] of integerPatterns) {
    const match = pattern.exec(text);
    if (!match || text.length > 100) continue;
    const magnitude = BigInt(prefix + (match[2] ?? ''));
    // Go allows no sign before an unsigned number, not even a plus.
    if (match[1] !== '' && magnitude > maxInt64 + (match[1] === '-' ? 1n : 0n)) return undefined;
    const value = match[1] === '-' ? -magnitude : magnitude;
    return isWithinInt64OrUint64(value) ? value : undefined;
  }
  return undefined;
}

const maxInt64 = 2n ** 63n - 1n;

function isWithinInt64OrUint64(value: bigint): boolean {
  return value >= -(2n ** 63n) && value < 2n ** 64n;
}

/** JavaScript writes floats as Go's JSON encoder does, except for negative zero. */
function resolveFloat(text: string): ResolvedScalar {
  const value = Number(text);
  // Go's parser reports an out-of-range number, so the scalar stays a string.
  if (!Number.isFinite(value)) return string(text);
  return { kind: 'number', text: Object.is(value, -0) ? '-0' : String(value) };
}

function shortestFloat32(value: number): number {
  for (let precision = 1; precision < 9; precision++) {
    const shorter = Number(value.toPrecision(precision));
    if (Math.fround(shorter) === value) return shorter;
  }
  return Number(value.toPrecision(9));
}
