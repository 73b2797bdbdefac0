import { decodeBase64 } from './base64.ts';
import { parseDuration } from './duration.ts';
import type { ManifestNode } from './manifest-node.ts';
import { nearestName } from './nearest-name.ts';
import { type FieldKind, fieldsOfObject, type ObjectSchema } from './object-schema.ts';
import { parseQuantity } from './quantity.ts';
import { isRfc3339Time } from './time.ts';

/** Something the decoder has to say about one value. */
export interface DecodeFinding {
  field: string;
  start: number;
  message: string;
  hint?: string;
  severity: 'error' | 'warning';
}

/**
 * Takes the fields of one object of a schema out of a text, as Go's decoder does: names match exactly, null is absence,
 * unknown fields are dropped (and reported here), a value of another type is an error. Durations become milliseconds. No
 * finding tells a value of a Secret.
 */
export function decodeObject(
  schema: ObjectSchema,
  objectName: string,
  node: ManifestNode,
): { value: Record<string, unknown>; findings: DecodeFinding[] } {
  const decoder = new Decoder(schema, { tellsValues: objectName !== 'Secret' });
  return { value: decoder.object(objectName, node, '', undefined), findings: decoder.findings() };
}

type ObjectValue = Record<string, unknown>;

const nanosecondsPerMillisecond = 1_000_000;

/** More errors or more warnings than this help nobody; the rest is only counted. */
const maxFindings = 50;

class Decoder {
  readonly #schema: ObjectSchema;
  readonly #findings = { error: [] as DecodeFinding[], warning: [] as DecodeFinding[] };
  readonly #tellsValues: boolean;
  #notShown = 0;

  constructor(schema: ObjectSchema, { tellsValues }: { tellsValues: boolean }) {
    this.#schema = schema;
    this.#tellsValues = tellsValues;
  }

  findings(): DecodeFinding[] {
    const shown = [...this.#findings.error, ...this.#findings.warning].toSorted((a, b) => a.start - b.start);
    if (this.#notShown === 0) return shown;
    const message = `${this.#notShown} more problems are not shown`;
    return [...shown, { field: '', start: 0, message, severity: 'warning' }];
  }

  /** `earlier` is what an earlier member of the same name gave: Go decodes a repeated JSON key on top of it. */
  object(name: string, node: ManifestNode, field: string, earlier: unknown): ObjectValue {
    const values = new Map<string, unknown>(Object.entries(asObject(earlier)));
    if (node.kind !== 'object') {
      if (node.kind !== 'null') this.#wrongType(node, field, 'an object', undefined);
      return Object.fromEntries(values);
    }
    const fields = fieldsOfObject(this.#schema, name);
    for (const entry of node.entries) {
      const path = field === '' ? entry.key : `${field}.${entry.key}`;
      const known = fields.get(entry.key);
      if (!known) {
        this.#unknownField(path, entry.key, entry.keyStart, fields.keys());
      } else if (entry.value.kind === 'null' && known.kind.type !== 'any') {
        values.delete(entry.key);
      } else {
        values.set(entry.key, this.#value(known.kind, entry.value, path, values.get(entry.key)));
      }
    }
    return Object.fromEntries(values);
  }

  #value(kind: FieldKind, node: ManifestNode, field: string, earlier: unknown): unknown {
    switch (kind.type) {
      case 'object':
        return this.object(kind.name, node, field, earlier);
      case 'list':
        return this.#list(kind.element, node, field, earlier);
      case 'map':
        return this.#map(kind.element, node, field, earlier);
      case 'any':
        return plainValue(node);
      case 'string':
        if (node.kind === 'string') return node.value;
        if (node.kind === 'null') return '';
        return this.#wrongType(node, field, 'a string', scalarText(node));
      case 'bytes':
        return this.#bytes(node, field);
      case 'bool':
        if (node.kind === 'bool') return node.value;
        if (node.kind === 'null') return false;
        return this.#wrongType(node, field, 'true or false', undefined);
      case 'int32':
      case 'int64':
      case 'uint32':
        return this.#integer(kind.type, node, field);
      case 'float64':
        if (node.kind === 'number') return Number(node.text);
        if (node.kind === 'null') return 0;
        return this.#wrongType(node, field, 'a number', undefined);
      case 'duration':
        return this.#duration(node, field);
      case 'durationOrNanoseconds':
        if (node.kind !== 'number') return this.#duration(node, field);
        return Number(this.#integer('int64', node, field) ?? 0) / nanosecondsPerMillisecond;
      case 'intOrString':
        return node.kind === 'string' ? node.value : this.#integer('int32', node, field, 'a port number or name');
      case 'quantity':
        return this.#quantity(node, field);
      case 'time':
        if (node.kind === 'string' && isRfc3339Time(node.value)) return node.value;
        return this.#wrongType(node, field, 'a time such as "2025-01-31T12:00:00Z"', undefined);
    }
  }

  #list(element: FieldKind, node: ManifestNode, field: string, earlier: unknown): unknown {
    if (node.kind === 'null') return [];
    if (node.kind !== 'list') return this.#wrongType(node, field, 'a list', undefined);
    const earlierItems: unknown[] = Array.isArray(earlier) ? earlier : [];
    return node.items.map((item, index) => this.#value(element, item, `${field}[${index}]`, earlierItems[index]));
  }

  #map(element: FieldKind, node: ManifestNode, field: string, earlier: unknown): unknown {
    if (node.kind === 'null') return {};
    if (node.kind !== 'object') return this.#wrongType(node, field, 'an object', undefined);
    const values = new Map<string, unknown>(Object.entries(asObject(earlier)));
    for (const entry of node.entries) {
      values.set(entry.key, this.#value(element, entry.value, `${field}[${entry.key}]`, undefined));
    }
    return Object.fromEntries(values);
  }

  #integer(type: 'int32' | 'int64' | 'uint32', node: ManifestNode, field: string, expected = 'an integer'): unknown {
    if (node.kind === 'null') return 0;
    if (node.kind !== 'number') return this.#wrongType(node, field, expected, undefined);
    // No integer has more digits; BigInt is not asked about them.
    if (!/^-?[0-9]{1,40}$/.test(node.text)) return this.#wrongType(node, field, expected, undefined);
    const value = BigInt(node.text);
    if (type === 'uint32') {
      if (BigInt.asUintN(32, value) === value) return Number(value);
      return this.#wrongType(node, field, 'an integer from 0 to 4294967295', undefined);
    }
    if (BigInt.asIntN(type === 'int32' ? 32 : 64, value) !== value) {
      return this.#wrongType(node, field, `an integer of ${type === 'int32' ? 32 : 64} bits`, undefined);
    }
    return Number(value);
  }

  #bytes(node: ManifestNode, field: string): unknown {
    if (node.kind === 'null') return '';
    if (node.kind === 'string' && decodeBase64(node.value)) return node.value;
    this.#add({
      field,
      start: node.start,
      message: 'Expected a string in base64',
      hint: field.startsWith('binaryData')
        ? 'Encode it with base64, or put plain text into data.'
        : 'Encode it with base64, or put plain text into stringData.',
      severity: 'error',
    });
    return undefined;
  }

  #duration(node: ManifestNode, field: string): unknown {
    if (node.kind === 'null') return 0;
    const nanoseconds = node.kind === 'string' ? parseDuration(node.value) : undefined;
    if (nanoseconds !== undefined) return Number(nanoseconds) / nanosecondsPerMillisecond;
    return this.#wrongType(node, field, 'a duration such as "20s" or "1m30s"', undefined);
  }

  #quantity(node: ManifestNode, field: string): unknown {
    if (node.kind === 'null') return '0';
    const text = node.kind === 'number' ? node.text : node.kind === 'string' ? node.value.trim() : undefined;
    if (text !== undefined && parseQuantity(text) !== undefined) return text;
    const message = `Expected a quantity such as "100m", "1" or "64Mi", found ${describeNode(node)}`;
    this.#add({
      field,
      start: node.start,
      message,
      hint: 'Suffixes are n u m k M G T P E and Ki Mi Gi Ti Pi Ei, in exactly this case.',
      severity: 'error',
    });
    return undefined;
  }

  #wrongType(node: ManifestNode, field: string, expected: string, quoted: string | undefined): unknown {
    const shown = this.#tellsValues && quoted !== undefined ? `Put it in quotes: "${quoted}".` : 'Put it in quotes.';
    const hint = quoted === undefined ? hintForType(node, expected) : shown;
    this.#add({
      field,
      start: node.start,
      message: `Expected ${expected}, found ${this.#tellsValues ? describeNode(node) : describeKind(node)}`,
      ...(hint === undefined ? {} : { hint }),
      severity: 'error',
    });
    return undefined;
  }

  #add(finding: DecodeFinding): void {
    const findings = this.#findings[finding.severity];
    if (findings.length < maxFindings) findings.push(finding);
    else this.#notShown++;
  }

  #unknownField(field: string, key: string, start: number, known: Iterable<string>): void {
    if (this.#findings.warning.length === maxFindings) {
      this.#notShown++;
      return;
    }
    const nearest = nearestName(key, known);
    this.#add({
      field,
      start,
      message: `Unknown field "${key}" is ignored`,
      hint: nearest === undefined ? 'Check its spelling and its indentation.' : `Did you mean "${nearest}"?`,
      severity: 'warning',
    });
  }
}

function asObject(value: unknown): ObjectValue {
  return typeof value === 'object' && value !== null ? (value as ObjectValue) : {};
}

function plainValue(node: ManifestNode): unknown {
  switch (node.kind) {
    case 'null':
      return null;
    case 'bool':
    case 'string':
      return node.value;
    case 'number':
      return Number(node.text);
    case 'list':
      return node.items.map(plainValue);
    case 'object':
      return Object.fromEntries(node.entries.map((entry) => [entry.key, plainValue(entry.value)]));
  }
}

function scalarText(node: ManifestNode): string | undefined {
  if (node.kind === 'number') return node.text;
  return node.kind === 'bool' ? String(node.value) : undefined;
}

function hintForType(node: ManifestNode, expected: string): string | undefined {
  if (node.kind === 'string' && /^[-+]?[0-9.]+$|^(?:true|false)$/.test(node.value)) return 'Remove the quotes.';
  if (expected === 'a list' && node.kind === 'object') return 'Start each item with "- ".';
  return undefined;
}

function describeNode(node: ManifestNode): string {
  switch (node.kind) {
    case 'bool':
      return String(node.value);
    case 'number':
      return `the number ${node.text.slice(0, 40)}`;
    case 'string':
      return `the string ${JSON.stringify(node.value.slice(0, 40))}`;
    case 'null':
    case 'list':
    case 'object':
      return describeKind(node);
  }
}

/** What a node is, without its value. */
export function describeKind({ kind }: ManifestNode): string {
  switch (kind) {
    case 'null':
      return 'null';
    case 'bool':
      return 'true or false';
    case 'object':
      return 'an object';
    case 'list':
    case 'number':
    case 'string':
      return `a ${kind}`;
  }
}
