/** How a quantity is written: `1500m`, `1Gi`, `15e2`. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** An exact amount of a resource, counted in billionths, the finest unit. */
export interface Quantity {
  nanos: bigint;
  format: QuantityFormat;
  /** The text as written, where Kubernetes keeps it instead of the canonical form. */
  text?: string;
}

export const zeroQuantity: Quantity = { nanos: 0n, format: 'DecimalSI' };

/**
 * Parses a quantity. Returns undefined if the text is not a quantity. Parts finer than a billionth are rounded away
 * from zero.
 *
 * kubelet: apimachinery/pkg/api/resource/quantity.go ParseQuantity
 */
export function parseQuantity(text: string): Quantity | undefined {
  if (text === '' || text.length > maxTextLength) return undefined;
  const match = quantityPattern.exec(text);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', suffixText = ''] = match;
  const suffix = parseSuffix(suffixText);
  if (!suffix) return undefined;
  const digits = (whole || '0') + fraction;
  const magnitude = toNanos(BigInt(digits), fraction.length, suffix);
  const format = suffix.format === 'BinarySI' && magnitude > 0n && magnitude < unit ? 'DecimalSI' : suffix.format;
  const nanos = sign === '-' ? -magnitude : magnitude;
  if (isKeptAsWritten(whole || '0', fraction, suffix)) return { nanos, format, text };
  return { nanos, format };
}

/** Parses a validated quantity. An absent or invalid text counts as zero. */
export function toQuantity(text: string | undefined): Quantity {
  return (text === undefined ? undefined : parseQuantity(text)) ?? zeroQuantity;
}

/**
 * The text Kubernetes prints and serialises a quantity as.
 *
 * kubelet: apimachinery/pkg/api/resource/quantity.go String, CanonicalizeBytes
 */
export function formatQuantity(quantity: Quantity): string {
  const { nanos, format } = quantity;
  if (nanos === 0n) return '0';
  if (quantity.text !== undefined) return quantity.text;
  const isSmall = magnitudeOf(nanos) < 1024n * unit;
  if (format === 'BinarySI' && !isSmall && nanos % unit === 0n) return formatBinary(nanos / unit);
  return formatDecimal(nanos, format === 'DecimalExponent');
}

/** Negative, zero or positive, as for Array.sort. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
}

/** The sum, written as `a` is, or as `b` if `a` is zero. kubelet: quantity.go Add */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

/** The difference, written as `a` is, or as `b` if `a` is zero. kubelet: quantity.go Sub */
export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos - b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

/** The larger of two; the first when they are equal. */
export function maxQuantity(a: Quantity, b: Quantity): Quantity {
  return compareQuantities(b, a) > 0 ? b : a;
}

/** Whole units, rounded away from zero, exact. kubelet: quantity.go Value */
export function quantityValue(quantity: Quantity): bigint {
  return divideAwayFromZero(quantity.nanos, unit);
}

/** Thousandths, rounded away from zero, exact. kubelet: quantity.go MilliValue */
export function quantityMilliValue(quantity: Quantity): bigint {
  return divideAwayFromZero(quantity.nanos, milli);
}

/** Rounded away from zero to whole thousandths. kubelet: quantity.go RoundUp */
export function roundUpToMilli(quantity: Quantity): Quantity {
  if (quantity.nanos % milli === 0n) return quantity;
  return { nanos: quantityMilliValue(quantity) * milli, format: quantity.format };
}

/** a / b rounded away from zero. */
export function divideAwayFromZero(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  if (a % b === 0n) return quotient;
  return a > 0n === b > 0n ? quotient + 1n : quotient - 1n;
}

/**
 * The amount that a text stands for, if Go keeps it as an integer. Returns undefined for any other, such as `1.5Gi`,
 * `1000m` and `100Ti`, though two of them are whole numbers. kubelet: quantity.go ParseQuantity, AsInt64
 */
export function quantityAsInt64(text: string): bigint | undefined {
  if (text === '' || text.length > maxTextLength) return undefined;
  const match = quantityPattern.exec(text);
  const [, sign = '', leading = '', fraction = '', suffixText = ''] = match ?? [];
  const suffix = parseSuffix(suffixText);
  if (match === null || suffix === undefined) return undefined;
  const whole = leading || '0';
  const scale = suffix.exponent - fraction.length;
  const isInteger =
    suffix.format === 'BinarySI'
      ? fraction === '' && binaryPrecision(whole, suffix) >= 0
      : whole.length + fraction.length <= maxInt64Digits && scale >= 0;
  if (!isInteger) return undefined;
  const factor = suffix.format === 'BinarySI' ? 2n ** BigInt(suffix.exponent) : 10n ** BigInt(scale);
  const amount = BigInt(whole + fraction) * factor;
  if (amount > maxInt64) return undefined;
  return sign === '-' ? -amount : amount;
}

const unit = 1_000_000_000n;
const milli = 1_000_000n;
const maxInt64 = 2n ** 63n - 1n;
/** kubelet: quantity.go maxInt64Factors */
const maxInt64Digits = 18;
/** Larger exponents are refused before they use much memory. No real amount needs them. */
const maxExponent = 1000;
const maxTextLength = 1000;

interface Suffix {
  format: QuantityFormat;
  exponent: number;
}

// Sign, leading zeros, whole digits, digits after the point, suffix. No digit fits two of these parts, so matching
// stays fast.
const quantityPattern = /^([-+]?)0*([1-9][0-9]*)?(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?[0-9]*)?)$/;
const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const binarySuffixes: ReadonlyMap<string, number> = new Map(
  ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((suffix, index) => [suffix, 10 * (index + 1)]),
);
const decimalSuffixOf = new Map([...decimalSuffixes].map(([suffix, exponent]) => [exponent, suffix]));
const binarySuffixList = ['', ...binarySuffixes.keys()];

function parseSuffix(text: string): Suffix | undefined {
  const decimal = decimalSuffixes.get(text);
  if (decimal !== undefined) return { format: 'DecimalSI', exponent: decimal };
  const binary = binarySuffixes.get(text);
  if (binary !== undefined) return { format: 'BinarySI', exponent: binary };
  const exponent = /^[eE]([-+]?[0-9]+)$/.exec(text)?.[1];
  if (exponent === undefined || Number(exponent) > maxExponent) return undefined;
  return { format: 'DecimalExponent', exponent: Math.max(Number(exponent), -maxExponent) };
}

function toNanos(digits: bigint, fractionDigits: number, suffix: Suffix): bigint {
  if (suffix.format === 'BinarySI') {
    const scaled = digits * 2n ** BigInt(suffix.exponent) * unit;
    const nanos = divideAwayFromZero(scaled, 10n ** BigInt(fractionDigits));
    return nanos > maxInt64 * unit ? maxInt64 * unit : nanos;
  }
  const exponent = suffix.exponent - fractionDigits + 9;
  return exponent >= 0
    ? digits * 10n ** BigInt(exponent)
    : divideAwayFromZero(digits, 10n ** BigInt(Math.min(-exponent, digits.toString().length + 1)));
}

/**
 * Kubernetes prints some texts unchanged, even if they are not canonical: those that its fast path treats as canonical.
 * The limits are those in quantity.go ParseQuantity.
 */
function isKeptAsWritten(whole: string, fraction: string, suffix: Suffix): boolean {
  const digits = whole + fraction;
  if (suffix.format === 'BinarySI') {
    return fraction === '' && binaryPrecision(whole, suffix) >= 0 && Number(digits) % 8 !== 0;
  }
  const scale = suffix.exponent - fraction.length;
  if (digits.length > maxInt64Digits || scale < -9) return false;
  return scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
}

/** Decimal digits that remain for a binary amount. Go calculates those below 0 with any precision. */
function binaryPrecision(whole: string, { exponent }: Suffix): number {
  return 15 - whole.length - Math.floor((exponent * 3) / 10) - 1;
}

function formatBinary(value: bigint): string {
  let number = value;
  let step = 0;
  while (number % 1024n === 0n && step < binarySuffixList.length - 1) {
    number /= 1024n;
    step++;
  }
  return `${number}${binarySuffixList[step] ?? ''}`;
}

function formatDecimal(nanos: bigint, asExponent: boolean): string {
  let number = nanos;
  let exponent = -9;
  while (number % 1000n === 0n) {
    number /= 1000n;
    exponent += 3;
  }
  const suffix = asExponent ? undefined : decimalSuffixOf.get(exponent);
  // Amounts beyond E have no suffix, only an exponent.
  return `${number}${suffix ?? (exponent === 0 ? '' : `e${exponent}`)}`;
}

function magnitudeOf(value: bigint): bigint {
  return value < 0n ? -value : value;
}
