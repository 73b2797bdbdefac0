import { stringify } from 'yaml';
import { visibleLines } from '../../text/visible-text.ts';

/**
 * A value as YAML. Keys of API objects are sorted, as kubectl does. In a separate module, because only this way the
 * bundle loads a CommonJS library on demand.
 */
export function yamlText(value: object): string {
  return visibleLines(stringify(value, { sortMapEntries: 'apiVersion' in value }));
}
