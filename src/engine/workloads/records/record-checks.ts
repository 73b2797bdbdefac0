/** True if a value that was read from disk is what this release writes. */
export type Check = (value: unknown) => boolean;

export const isText: Check = (value) => typeof value === 'string';

export const isFlag: Check = (value) => typeof value === 'boolean';

export const isOneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);

export const isCount =
  (max = Number.MAX_SAFE_INTEGER): Check =>
  (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;

/** Milliseconds since the epoch, in a year with four digits. */
export const isTime: Check = (value) => typeof value === 'number' && value >= minTime && value <= maxTime;
const minTime = Date.parse('0001-01-01T00:00:00Z');
const maxTime = Date.parse('9999-12-31T23:59:59Z');

export const optional =
  (is: Check): Check =>
  (value) =>
    value === undefined || is(value);

export const isListOf =
  (is: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(is);

export const isMapOf =
  (is: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(is);

/** Checks these fields of an object. It may have others. */
export const isShape =
  <T>(fields: { readonly [Field in keyof T]-?: Check }) =>
  (value: unknown): value is T =>
    isObject(value) &&
    Object.entries<Check>(fields).every(([field, is]) => is((value as Readonly<Record<string, unknown>>)[field]));

/** True if nothing in the value is nested deeper, so that recursive functions can process it. */
export const isShallow = (value: unknown, depth: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (depth > 0 && Object.values(value).every((one) => isShallow(one, depth - 1)));

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
