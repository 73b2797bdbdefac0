import { decodeBase64 } from '../text/base64.ts';
import { type ManifestEntry, type ManifestNode, plainValue } from '../text/manifest-node.ts';
import { excerpt } from '../text/manifest-problem.ts';
import { notShown } from '../text/problem-list.ts';
import { parseDuration } from '../values/duration.ts';
import { parseQuantity } from '../values/quantity.ts';
import { isRfc3339Time } from '../values/time.ts';
import { type FieldKind, fieldsOfObject, type ObjectSchema } from './object-schema.ts';
import { releaseOfField } from './newer-fields.ts';
import { hintForUnknownField } from './unknown-field-hint.ts';
import { hintForWrongType } from './wrong-type-hint.ts';

/** One finding of the decoder about a value: an error or a warning. */
export interface DecodeFinding {
  field: string;
  start: number;
  message: string;
  hint?: string;
  severity: 'error' | 'warning';
  /** Set in an entry that stands for this number of findings. */
  notShown?: number;
}

/**
 * Decodes one object of a schema, as Go's decoder does. Names must match exactly, and null counts as absent. Drops
 * unknown fields with a warning; a value of the wrong type is an error. Durations become milliseconds. No message
 * contains a value of a Secret.
 */
export function decodeObject(
  schema: ObjectSchema,
  objectName: string,
  node: ManifestNode,
): { value: Record<string, unknown>; findings: DecodeFinding[] } {
  const decoder = new Decoder(schema, objectName);
  return { value: decoder.object(objectName, node, '', undefined), findings: decoder.findings() };
}

type ObjectValue = Record<string, unknown>;
type ListOrMap = Extract<FieldKind, { element: FieldKind }>;
type IntegerType = 'int32' | 'int64' | 'uint32';

const nanosecondsPerMillisecond = 1_000_000;

/** Maximum number of findings that are reported in full. The rest are only counted. */
export const maxFindings = 50;

class Decoder {
  private readonly bySeverity = { error: [] as DecodeFinding[], warning: [] as DecodeFinding[] };
  private readonly quotesValues: boolean;
  private notShown = 0;

  constructor(
    private readonly schema: ObjectSchema,
    private readonly rootName: string,
  ) {
    this.quotesValues = rootName !== 'Secret';
  }

  findings(): DecodeFinding[] {
    const shown = [...this.bySeverity.error, ...this.bySeverity.warning].toSorted((a, b) => a.start - b.start);
    if (this.notShown === 0) return shown;
    return [...shown, { field: '', start: 0, ...notShown(this.notShown), severity: 'warning' }];
  }

  /**
   * `earlier` is the value of an earlier member with the same name: Go decodes a repeated JSON key on top of that
   * value.
   */
  object(name: string, node: ManifestNode, field: string, earlier: unknown): ObjectValue {
    const values: ObjectValue = { ...asObject(earlier) };
    if (node.kind !== 'object') {
      if (node.kind !== 'null') this.wrongType({ type: 'object', name }, node, field);
      return values;
    }
    const fields = fieldsOfObject(this.schema, name);
    for (const entry of node.entries) {
      const path = field === '' ? entry.key : `${field}.${entry.key}`;
      const known = fields.get(entry.key);
      if (!known) {
        const readAs = field === '' ? typeFieldMeant(entry.key, node.entries) : undefined;
        if (readAs !== undefined && fields.has(readAs)) this.readInAnyCase(entry, readAs);
        else this.unknownField(name, field, entry);
      } else if (entry.value.kind === 'null' && known.kind.type !== 'any') {
        Reflect.deleteProperty(values, entry.key);
      } else {
        values[entry.key] = this.value(known.kind, entry.value, path, values[entry.key]);
      }
    }
    return values;
  }

  private value(kind: FieldKind, node: ManifestNode, field: string, earlier: unknown): unknown {
    switch (kind.type) {
      case 'object':
        return this.object(kind.name, node, field, earlier);
      case 'list':
        return this.list(kind, node, field, earlier);
      case 'map':
        return this.map(kind, node, field, earlier);
      case 'any':
        return plainValue(node);
      case 'string':
        if (node.kind === 'string') return node.value;
        if (node.kind === 'null') return '';
        return this.wrongType(kind, node, field);
      case 'bytes':
        if (node.kind === 'null') return '';
        if (node.kind === 'string' && decodeBase64(node.value)) return node.value;
        return this.wrongType(kind, node, field);
      case 'bool':
        if (node.kind === 'bool') return node.value;
        if (node.kind === 'null') return false;
        return this.wrongType(kind, node, field);
      case 'int32':
      case 'int64':
      case 'uint32':
        return this.integer(kind.type, kind, node, field);
      case 'float64':
        if (node.kind === 'number') return Number(node.text);
        if (node.kind === 'null') return 0;
        return this.wrongType(kind, node, field);
      case 'duration':
        return this.duration(kind, node, field);
      case 'durationOrNanoseconds':
        if (node.kind !== 'number') return this.duration(kind, node, field);
        return Number(this.integer('int64', kind, node, field) ?? 0) / nanosecondsPerMillisecond;
      case 'intOrString':
        return node.kind === 'string' ? node.value : this.integer('int32', kind, node, field);
      case 'quantity':
        return this.quantity(kind, node, field);
      case 'time':
        if (node.kind === 'string' && isRfc3339Time(node.value)) return node.value;
        return this.wrongType(kind, node, field);
    }
  }

  private list(kind: ListOrMap, node: ManifestNode, field: string, earlier: unknown): unknown {
    if (node.kind === 'null') return [];
    if (node.kind !== 'list') return this.wrongType(kind, node, field);
    const earlierItems: unknown[] = Array.isArray(earlier) ? earlier : [];
    return node.items.map((item, index) => this.value(kind.element, item, `${field}[${index}]`, earlierItems[index]));
  }

  private map(kind: ListOrMap, node: ManifestNode, field: string, earlier: unknown): unknown {
    if (node.kind === 'null') return {};
    if (node.kind !== 'object') return this.wrongType(kind, node, field);
    const values = new Map<string, unknown>();
    for (const entry of node.entries) {
      values.set(entry.key, this.value(kind.element, entry.value, `${field}[${entry.key}]`, undefined));
    }
    if (earlier === undefined) return Object.fromEntries(values);
    // Merges in place, because copying a large map once for each of many small ones would take forever.
    const object = asObject(earlier);
    for (const [key, value] of values) {
      Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
    }
    return object;
  }

  private integer(type: IntegerType, kind: FieldKind, node: ManifestNode, field: string): unknown {
    if (node.kind === 'null') return 0;
    // No integer has more digits; longer text never reaches BigInt, which would be slow.
    if (node.kind !== 'number' || !/^-?[0-9]{1,40}$/.test(node.text)) return this.wrongType(kind, node, field);
    const value = BigInt(node.text);
    const { fits, expected } = integerRanges[type];
    return fits(value) ? Number(value) : this.wrongType(kind, node, field, expected);
  }

  private duration(kind: FieldKind, node: ManifestNode, field: string): unknown {
    if (node.kind === 'null') return 0;
    const nanoseconds = node.kind === 'string' ? parseDuration(node.value) : undefined;
    if (nanoseconds !== undefined) return Number(nanoseconds) / nanosecondsPerMillisecond;
    return this.wrongType(kind, node, field);
  }

  private quantity(kind: FieldKind, node: ManifestNode, field: string): unknown {
    if (node.kind === 'null') return '0';
    const text = node.kind === 'number' ? node.text : node.kind === 'string' ? node.value.trim() : undefined;
    if (text !== undefined && parseQuantity(text) !== undefined) return text;
    return this.wrongType(kind, node, field);
  }

  private wrongType(
    kind: FieldKind,
    node: ManifestNode,
    field: string,
    expected = expectedValue(kind, field),
  ): unknown {
    const isOtherText = kind.type === 'bytes' && node.kind === 'string';
    const found = isOtherText ? 'other text' : this.quotesValues ? describeNode(node) : describeKind(node);
    const hint = hintForWrongType(this.schema, kind, node, this.quotesValues);
    this.add({
      field,
      start: node.start,
      message: `Expected ${expected}, found ${found}`,
      ...(hint === undefined ? {} : { hint }),
      severity: 'error',
    });
    return undefined;
  }

  private add(finding: DecodeFinding): void {
    const findings = this.bySeverity[finding.severity];
    if (findings.length < maxFindings) findings.push(finding);
    else this.notShown++;
  }

  private readInAnyCase({ key, keyStart }: ManifestEntry, name: string): void {
    const message = `"${key}" is read as "${name}"`;
    this.add({ field: key, start: keyStart, message, hint: `Write "${name}".`, severity: 'warning' });
  }

  private unknownField(objectName: string, objectPath: string, { key, keyStart }: ManifestEntry): void {
    if (this.bySeverity.warning.length === maxFindings) {
      this.notShown++;
      return;
    }
    const field = objectPath === '' ? key : `${objectPath}.${key}`;
    const release = releaseOfField(objectName, key);
    if (release !== undefined) {
      const message = `"${key}" is a field since Kubernetes ${release}, not built here: it is ignored`;
      this.add({
        field,
        start: keyStart,
        message,
        hint: 'Remove it, or accept that it has no effect.',
        severity: 'warning',
      });
      return;
    }
    this.add({
      field,
      start: keyStart,
      message: `Unknown field "${excerpt(key)}" is ignored`,
      hint: hintForUnknownField(this.schema, this.rootName, objectPath, key),
      severity: 'warning',
    });
  }
}

const integerRanges: Readonly<Record<IntegerType, { fits: (value: bigint) => boolean; expected: string }>> = {
  int32: { fits: (value) => BigInt.asIntN(32, value) === value, expected: 'an integer of 32 bits' },
  int64: { fits: (value) => BigInt.asIntN(64, value) === value, expected: 'an integer of 64 bits' },
  uint32: { fits: (value) => BigInt.asUintN(32, value) === value, expected: 'an integer from 0 to 4294967295' },
};

const expectedValues: Readonly<Record<FieldKind['type'], string>> = {
  any: 'anything',
  bool: 'true or false',
  bytes: 'a string in base64',
  duration: 'a duration such as "20s" or "1m30s"',
  durationOrNanoseconds: 'a duration such as "20s" or "1m30s"',
  float64: 'a number',
  int32: 'an integer',
  int64: 'an integer',
  intOrString: 'a whole number or a name',
  list: 'a list',
  map: 'an object',
  object: 'an object',
  quantity: 'a quantity such as "100m", "1" or "64Mi"',
  string: 'a string',
  time: 'a time such as "2025-01-31T12:00:00Z"',
  uint32: 'an integer',
};

function expectedValue({ type }: FieldKind, field: string): string {
  const isCount = type === 'intOrString' && /\.max(Surge|Unavailable)$/.test(field);
  return isCount ? 'a whole number or a percentage such as "25%"' : expectedValues[type];
}

function asObject(value: unknown): ObjectValue {
  return typeof value === 'object' && value !== null ? (value as ObjectValue) : {};
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

/** Describes the type of a node without its value. */
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

/** The field that `objectType` reads for a key in another case. Returns undefined if the exact key is there too. */
function typeFieldMeant(key: string, entries: readonly ManifestEntry[]): string | undefined {
  const name = ['apiVersion', 'kind'].find((one) => one.toLowerCase() === key.toLowerCase());
  return entries.some((entry) => entry.key === name) ? undefined : name;
}
