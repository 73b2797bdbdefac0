import { podSchema as kinds } from './generated/pod-schema.ts';
import { fieldsOfObject, type ObjectField, parseSchema } from './object-schema.ts';

/** Everything a manifest may declare: every object with its fields. */
export const podSchema = parseSchema(kinds);

/** The fields of an object type by name, such as those of `Container`. */
export function fieldsOf(objectName: string): ReadonlyMap<string, ObjectField> {
  return fieldsOfObject(podSchema, objectName);
}
