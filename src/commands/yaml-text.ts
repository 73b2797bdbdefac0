import { stringify } from 'yaml';

/** A value as YAML. A module of its own: the bundle can load a CommonJS library on demand only by way of one. */
export function yamlText(value: unknown): string {
  return stringify(value);
}
