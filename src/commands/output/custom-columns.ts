import { UserError } from '../../errors.ts';
import { formatTable } from '../../text/format-table.ts';
import { parseJSONPath, valuesAt, valueText } from './json-path.ts';

/**
 * Parses columns such as `NAME:.metadata.name,IP:.status.podIP`. Returns a function that formats their table. Throws a
 * `UserError` if the text describes no columns. kubectl: pkg/cmd/get/customcolumn.go
 */
export function parseColumns(text: string): (items: readonly unknown[], headers: boolean) => Promise<string> {
  // A comma within brackets belongs to the path.
  const columns = text.split(/,(?![^[]*\])/).map((column) => {
    const [, name = '', path = ''] = /^([^:]+):(.+)$/s.exec(column) ?? [];
    if (path === '') {
      throw new UserError(`"${column}" is not a column`, { hint: 'Write it as NAME:.metadata.name.' });
    }
    return { name, path: parseJSONPath(path) };
  });
  return (items, headers) => {
    const rows = items.map((item) =>
      columns.map(({ path }) => valuesAt(item, path).map(valueText).join(',') || '<none>'),
    );
    return formatTable(headers ? [columns.map(({ name }) => name), ...rows] : rows);
  };
}
