import { stringify } from 'yaml';
import { visibleLines } from '../../text/visible-text.ts';

/**
 * A value as YAML. Keys of API objects are sorted, as by kubectl. A module of its own, because the bundle can load a
 * CommonJS library on demand only this way.
 */
export function yamlText(value: object): string {
  return visibleLines(stringify(value, { sortMapEntries: 'apiVersion' in value }));
}
