/** The types of single values with their zero values as Go writes them. */
export const scalarZeros = {
  string: '',
  bytes: '',
  bool: false,
  int32: 0,
  int64: 0,
  uint32: 0,
  float64: 0,
  quantity: '0',
  intOrString: 0,
  time: '',
  duration: 0,
  durationOrNanoseconds: 0,
  any: undefined,
} as const;

/** The type of a value. Objects are named as in Go; bytes are base64 in text. */
export type FieldKind =
  { type: keyof typeof scalarZeros } | { type: 'list' | 'map'; element: FieldKind } | { type: 'object'; name: string };

/** One field of an object. */
export interface ObjectField {
  kind: FieldKind;
  /**
   * What absence means. `required`: always written, with the zero value if absent. `pointer`: an explicit zero value
   * differs from absence. `other`: a zero value is the same as absence.
   */
  presence: 'required' | 'pointer' | 'other';
}

/** The fields of every object type, such as `Container`, by name. */
export type ObjectSchema = ReadonlyMap<string, ReadonlyMap<string, ObjectField>>;

/**
 * Parses a schema: the kind of each field of each object. A kind is `int32`, `[]string` or `map quantity`, for example,
 * or the name of another object. A leading `*` marks a pointer, a leading `!` a field that is always written.
 */
export function parseSchema(kinds: Readonly<Record<string, Readonly<Record<string, string>>>>): ObjectSchema {
  return new Map(
    Object.entries(kinds).map(([name, fields]) => [
      name,
      new Map(Object.entries(fields).map(([field, kind]) => [field, parseField(kind)])),
    ]),
  );
}

/** The fields of an object type. Throws an Error if the schema lacks it. */
export function fieldsOfObject(schema: ObjectSchema, objectName: string): ReadonlyMap<string, ObjectField> {
  const fields = schema.get(objectName);
  if (!fields) throw new Error(`The schema has no object ${objectName}`);
  return fields;
}

function parseField(text: string): ObjectField {
  if (text.startsWith('!')) return { kind: parseKind(text.slice(1)), presence: 'required' };
  if (text.startsWith('*')) return { kind: parseKind(text.slice(1)), presence: 'pointer' };
  return { kind: parseKind(text), presence: 'other' };
}

function parseKind(text: string): FieldKind {
  if (text.startsWith('[]')) return { type: 'list', element: parseKind(text.slice(2)) };
  if (text.startsWith('map ')) return { type: 'map', element: parseKind(text.slice(4)) };
  return isScalar(text) ? { type: text } : { type: 'object', name: text };
}

const isScalar = (type: string): type is keyof typeof scalarZeros => Object.hasOwn(scalarZeros, type);
