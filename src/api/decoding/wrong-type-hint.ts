import type { ManifestNode } from '../text/manifest-node.ts';
import { templateHint } from '../text/template-hint.ts';
import { type FieldKind, fieldsOfObject, type ObjectSchema } from './object-schema.ts';
import { parseQuantity } from '../values/quantity.ts';

/**
 * Hint on replacing a value of the wrong type. Quotes the value only if `quotesValues`, which is false for a Secret.
 */
export function hintForWrongType(
  schema: ObjectSchema,
  kind: FieldKind,
  node: ManifestNode,
  quotesValues: boolean,
): string | undefined {
  const template = node.kind === 'string' ? templateHint(node.value) : undefined;
  if (template !== undefined) return template;
  switch (kind.type) {
    case 'string':
      return hintForString(node, quotesValues);
    case 'bytes':
      return 'Encode it with base64, or put plain text into stringData (Secret) or data (ConfigMap).';
    case 'bool':
      return node.kind === 'string' && /^(?:true|false)$/.test(node.value) ? 'Remove the quotes.' : undefined;
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'float64':
    case 'intOrString':
      if (node.kind !== 'string') return undefined;
      if (/^[-+]?[0-9.]+$/.test(node.value)) return 'Remove the quotes.';
      return /^[0-9]+ *[a-z]+$/i.test(node.value) ? 'Write the number alone, without a unit.' : undefined;
    case 'list':
      return hintForList(schema, kind.element, node);
    case 'object':
      return node.kind === 'list' ? 'Remove the "- ".' : hintForObject(schema, kind.name, node, quotesValues);
    case 'quantity':
      return hintForQuantity(node);
    case 'map':
    case 'time':
    case 'any':
    case 'duration':
    case 'durationOrNanoseconds':
      return undefined;
  }
}

function hintForString(node: ManifestNode, quotesValues: boolean): string | undefined {
  if (node.kind === 'bool') return 'Put it in quotes: YAML reads y, n, yes, no, on and off as true or false, too.';
  if (node.kind !== 'number') return undefined;
  return quotesValues ? `Put it in quotes: "${node.text}".` : 'Put it in quotes.';
}

function hintForList(schema: ObjectSchema, element: FieldKind, node: ManifestNode): string | undefined {
  if (node.kind === 'string' && element.type === 'string') return 'Write a list, such as ["sh", "-c", "date"].';
  if (node.kind !== 'object') return undefined;
  const fields = element.type === 'object' ? fieldsOfObject(schema, element.name) : new Map<string, unknown>();
  if (fields.has('name') && fields.has('value')) return 'Write each item as "- name: …" and below it "  value: …".';
  return 'Start each item with "- ".';
}

/** A bare value in place of an object is probably its name, or its only required field. */
function hintForObject(
  schema: ObjectSchema,
  name: string,
  node: ManifestNode,
  quotesValues: boolean,
): string | undefined {
  if (!quotesValues || (node.kind !== 'string' && node.kind !== 'number')) return undefined;
  const text = node.kind === 'string' ? node.value : node.text;
  if (/^[A-Za-z]+:[^ /]/.test(text)) return 'Put a space after each ":".';
  if (text.length > 60 || text.includes('\n')) return undefined;
  const fields = fieldsOfObject(schema, name);
  const variable = fields.has('name') && fields.has('value') ? /^([^=]+)=(.*)$/.exec(text) : null;
  if (variable) return `Write "name: ${variable[1] ?? ''}" and "value: ${variable[2] ?? ''}".`;
  const field = [...fields].find(
    ([name, { kind, presence }]) =>
      (name === 'name' || presence === 'required') &&
      (node.kind === 'string' ? kind.type === 'string' : kind.type.startsWith('int')),
  )?.[0];
  return field === undefined ? undefined : `Write "${field}: ${text}".`;
}

const suffixHint = 'Suffixes are n u m k M G T P E and Ki Mi Gi Ti Pi Ei, in exactly this case.';

/** Corrects amounts such as `64 mb`. */
function hintForQuantity(node: ManifestNode): string {
  const match = node.kind === 'string' ? /^\s*([0-9.]+)\s*([a-z]+)\s*$/i.exec(node.value) : null;
  if (!match) return suffixHint;
  const [, number = '', unit = ''] = match;
  const letter = unit.charAt(0).toLowerCase() === 'k' ? 'k' : unit.charAt(0).toUpperCase();
  const binary = /^[a-z]ib?$/i.test(unit) ? `${letter.toUpperCase()}i` : letter;
  const known = [unit, binary].find((suffix) => parseQuantity(number + suffix) !== undefined);
  const isByteUnit = /^[kmgtpe]i?b?$/i.test(unit) || known === unit;
  return known === undefined || !isByteUnit ? suffixHint : `Did you mean "${number}${known}"?`;
}
