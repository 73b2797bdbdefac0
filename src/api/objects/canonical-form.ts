import { type FieldKind, type ObjectField, scalarZeros } from '../decoding/object-schema.ts';
import { manifestSchema } from '../decoding/manifest-schema.ts';
import { formatQuantity, parseQuantity, zeroQuantity } from '../values/quantity.ts';
import { canonicalTime } from '../values/time.ts';

/**
 * Returns the canonical form that Go gives all equivalent objects. Absent, null and empty values are equal where Go
 * does not distinguish them. Required fields are present; quantities and times have their canonical text.
 */
export function canonicalObject(objectName: string, object: object): Record<string, unknown> {
  const written = new Map<string, unknown>(Object.entries(object));
  const canonical: Record<string, unknown> = {};
  for (const field of fieldLists.get(objectName) ?? []) {
    // Skips fields that are neither required nor written.
    if (field.presence !== 'required' && !written.has(field.name)) continue;
    const value = canonicalField(field, written.get(field.name));
    if (value !== undefined) canonical[field.name] = value;
  }
  return canonical;
}

/** The fields of every object as a list, for quick iteration. */
const fieldLists: ReadonlyMap<string, readonly (ObjectField & { name: string })[]> = new Map(
  [...manifestSchema].map(([objectName, fields]) => [
    objectName,
    [...fields].map(([name, field]) => ({ name, ...field })),
  ]),
);

function canonicalField(field: ObjectField, written: unknown): unknown {
  if (written === undefined || written === null) {
    return field.presence === 'required' ? zeroValue(field.kind) : undefined;
  }
  const value = canonicalValue(field.kind, written);
  return field.presence === 'other' && isOmitted(value, field.kind) ? undefined : value;
}

function canonicalValue(kind: FieldKind, value: unknown): unknown {
  // An item of a list, or a map value, that could not be decoded.
  if (value === undefined) return zeroValue(kind);
  if (kind.type === 'object')
    return canonicalObject(kind.name, typeof value === 'object' && value !== null ? value : {});
  if (kind.type === 'list') return Array.isArray(value) ? value.map((item) => canonicalValue(kind.element, item)) : [];
  if (kind.type === 'map') {
    const entries = Object.entries(value ?? {});
    return Object.fromEntries(entries.map(([key, item]) => [key, canonicalValue(kind.element, item)]));
  }
  if (kind.type === 'quantity')
    return formatQuantity((typeof value === 'string' ? parseQuantity(value) : undefined) ?? zeroQuantity);
  return kind.type === 'time' && typeof value === 'string' ? canonicalTime(value) : value;
}

function zeroValue(kind: FieldKind): unknown {
  if (kind.type === 'object') return canonicalObject(kind.name, {});
  if (kind.type === 'list') return [];
  // Go writes null here, which means the same as absence.
  if (kind.type === 'map' || kind.type === 'time') return undefined;
  return scalarZeros[kind.type];
}

/** True if Go's omitempty drops the value. It keeps objects, even empty ones. */
function isOmitted(value: unknown, kind: FieldKind): boolean {
  switch (kind.type) {
    case 'string':
    case 'bytes':
      return value === '';
    case 'bool':
      return value === false;
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'float64':
      return value === 0;
    case 'list':
      return Array.isArray(value) && value.length === 0;
    case 'map':
      return Object.keys(value ?? {}).length === 0;
    case 'intOrString':
    case 'quantity':
    case 'time':
    case 'duration':
    case 'durationOrNanoseconds':
    case 'object':
    case 'any':
      return false;
  }
}
