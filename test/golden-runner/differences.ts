import { isDeepStrictEqual } from 'node:util';

/** One place where two values differ; an absent member is undefined. */
export interface Difference {
  /** Such as `pod.spec.containers[0].image`; empty for the whole value. */
  path: string;
  expected: unknown;
  actual: unknown;
}

interface CompareOptions {
  /** Members, at any depth, that count only where they are expected. */
  partlyRecorded?: readonly string[];
}

/**
 * Every place where two plain values differ, in the order of the expected one; members that are undefined are absent.
 */
export function* differences(
  expected: unknown,
  actual: unknown,
  options: CompareOptions = {},
  path = '',
): Generator<Difference, void> {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    for (let i = 0; i < Math.max(expected.length, actual.length); i++) {
      yield* differences(expected[i], actual[i], options, `${path}[${i}]`);
    }
  } else if (isPlainObject(expected) && isPlainObject(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      if (expected[key] === undefined && options.partlyRecorded?.includes(key) === true) continue;
      yield* differences(expected[key], actual[key], options, memberPath(path, key));
    }
  } else if (!isDeepStrictEqual(expected, actual)) {
    yield { path, expected, actual };
  }
}

/**
 * As `differences`, by the rule of the tables: only members of the result that were recorded count, and only `ok` or
 * `valid` where it is false.
 */
export function* recordedDifferences(
  expected: unknown,
  actual: unknown,
  options: CompareOptions = {},
): Generator<Difference, void> {
  if (!isPlainObject(expected) || !isPlainObject(actual)) {
    yield* differences(expected, actual, options);
    return;
  }
  const verdict = ['ok', 'valid'].find((key) => expected[key] === false);
  for (const key of verdict === undefined ? Object.keys(expected) : [verdict]) {
    yield* differences(expected[key], actual[key], options, key);
  }
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function memberPath(path: string, key: string): string {
  if (!/^[\w-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}
