import { visibleJSON } from '../../text/visible-text.ts';

/** A value as JSON with a line end. Escapes characters that could control a terminal. */
export function jsonText(value: unknown, indent: number): string {
  return `${visibleJSON(JSON.stringify(value, undefined, indent))}\n`;
}

/** An object as JSON or YAML. Loads YAML only if it is wanted. */
export async function objectText(object: object, format: 'json' | 'yaml', indent = 4): Promise<string> {
  if (format === 'json') return jsonText(object, indent);
  return (await import('./yaml-text.ts')).yamlText(object);
}
