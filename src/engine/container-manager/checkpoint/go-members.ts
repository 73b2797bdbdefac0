import type { GoStruct, GoValue } from './go-types.ts';

/** Returns the members of a map. Any other value, nil included, has none. */
export function mapOf(value: GoValue): ReadonlyMap<string, GoValue> {
  return value instanceof Map ? value : new Map<string, GoValue>();
}

/** Returns the elements of a list. Any other value, nil included, has none. */
export function listOf(value: GoValue): readonly GoValue[] {
  return Array.isArray(value) ? (value as readonly GoValue[]) : [];
}

/** Returns the fields of a struct. Any other value, a nil pointer included, has none. */
export function structOf(value: GoValue): GoStruct {
  return typeof value === 'object' && !(value instanceof Map) && !Array.isArray(value) ? (value as GoStruct) : {};
}

/** Returns a string. Returns '' for any other value. */
export function textOf(value: GoValue): string {
  return typeof value === 'string' ? value : '';
}
