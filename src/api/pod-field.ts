import { podSchema } from './generated/pod-schema.ts';

/** Kind of a value of the API. Names of objects are those of the Go types; bytes are base64 in the text. */
export type FieldKind =
  | { type: 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'quantity' | 'intOrString' | 'time' | 'any' }
  | { type: 'list' | 'map'; element: FieldKind }
  | { type: 'object'; name: string };

/** One field of an object of the API. */
export interface PodField {
  kind: FieldKind;
  /**
   * What an absent value means: `required` fields are always written, with their zero value when nothing was given;
   * an explicit zero value of a `pointer` field differs from absence; of all `other` scalars it is absence.
   */
  presence: 'required' | 'pointer' | 'other';
}

/** The fields of an object type by name, such as those of `Container`. */
export function fieldsOf(objectName: string): ReadonlyMap<string, PodField> {
  const fields = fieldsByObject.get(objectName);
  if (!fields) throw new Error(`The API has no object ${objectName}`);
  return fields;
}

const fieldsByObject: ReadonlyMap<string, ReadonlyMap<string, PodField>> = new Map(
  Object.entries(podSchema).map(([name, fields]) => [
    name,
    new Map(Object.entries<string>(fields).map(([field, kind]) => [field, parseField(kind)])),
  ]),
);

function parseField(text: string): PodField {
  if (text.startsWith('!')) return { kind: parseKind(text.slice(1)), presence: 'required' };
  if (text.startsWith('*')) return { kind: parseKind(text.slice(1)), presence: 'pointer' };
  return { kind: parseKind(text), presence: 'other' };
}

function parseKind(text: string): FieldKind {
  if (text.startsWith('[]')) return { type: 'list', element: parseKind(text.slice(2)) };
  if (text.startsWith('map ')) return { type: 'map', element: parseKind(text.slice(4)) };
  switch (text) {
    case 'string':
    case 'bytes':
    case 'bool':
    case 'int32':
    case 'int64':
    case 'quantity':
    case 'intOrString':
    case 'time':
    case 'any':
      return { type: text };
    default:
      return { type: 'object', name: text };
  }
}
