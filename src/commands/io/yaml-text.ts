import { stringify } from 'yaml';
import { visibleLines } from '../../visible-text.ts';

/**
 * A value as YAML; the keys of API objects are sorted, as kubectl does. A module of its own: the bundle can load a CommonJS
 * library on demand only by way of one.
 */
export function yamlText(value: object): string {
  return visibleLines(stringify(value, { sortMapEntries: 'apiVersion' in value }));
}
