/** The TOML values used here. A table holds plain values and other tables. */
export type TomlValue = string | number | boolean | readonly string[];
export interface TomlTable {
  readonly [key: string]: TomlValue | TomlTable;
}

/** Writes a table as a TOML 1.0 document: plain values first, then one `[section]` for each table below. */
export function generateToml(table: TomlTable, path: readonly string[] = []): string {
  const plain: string[] = [];
  const sections: string[] = [];
  for (const [key, value] of Object.entries(table)) {
    if (isTable(value)) sections.push(generateToml(value, [...path, key]));
    else plain.push(`${keyText(key)} = ${valueText(value)}\n`);
  }
  const header = path.length > 0 && plain.length > 0 ? `\n[${path.map(keyText).join('.')}]\n` : '';
  return header + plain.join('') + sections.join('');
}

function isTable(value: TomlValue | TomlTable): value is TomlTable {
  return typeof value === 'object' && !Array.isArray(value);
}

function valueText(value: TomlValue): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'object') return `[${value.map(quoted).join(', ')}]`;
  return String(value);
}

function keyText(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : quoted(key);
}

/** Quotes a basic string: uses JSON's escapes and also escapes DEL, which TOML forbids. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}
