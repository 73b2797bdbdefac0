import { stringify } from 'yaml';

/**
 * A value as YAML, keys sorted as kubectl does. A module of its own: the bundle can load a CommonJS library on demand only
 * by way of one.
 */
export function yamlText(value: unknown): string {
  return stringify(value, { sortMapEntries: true });
}
