import { UserError } from '../../errors.ts';
import { visibleLines } from '../../text/visible-text.ts';
import { objectText } from '../io/json-text.ts';

/** Formats objects. A single object is in no List, as in kubectl. */
export type ObjectsFormat = (
  objects: readonly object[],
  options: { isSingle: boolean; headers: boolean },
) => Promise<string>;

/**
 * Returns the format of `-o json`, `yaml`, `jsonpath=…` or `custom-columns=…`. Rejects with a `UserError` if it is
 * another one, or if its template or a column is invalid.
 */
export async function objectsFormat(output: string): Promise<ObjectsFormat> {
  const [format = '', argument = ''] = splitOnce(output);
  switch (format) {
    case 'json':
    case 'yaml':
      return (objects, { isSingle }) => objectText(listOf(objects, isSingle), format);
    case 'jsonpath': {
      const { parseTemplate } = await import('./json-path-template.ts');
      const fill = parseTemplate(argument);
      return (objects, { isSingle }) => Promise.resolve(visibleLines(fill(listOf(objects, isSingle))));
    }
    case 'custom-columns': {
      const { parseColumns } = await import('./custom-columns.ts');
      const table = parseColumns(argument);
      return (objects, { headers }) => table(objects, headers);
    }
    default:
      throw new UserError(`--output must be wide, json, yaml, name, jsonpath=… or custom-columns=…, not "${output}"`);
  }
}

function splitOnce(output: string): string[] {
  const at = output.indexOf('=');
  return at < 0 ? [output] : [output.slice(0, at), output.slice(at + 1)];
}

function listOf(objects: readonly object[], isSingle: boolean): object {
  const [first] = objects;
  if (isSingle && first !== undefined && objects.length === 1) return first;
  return { apiVersion: 'v1', kind: 'List', items: objects };
}
