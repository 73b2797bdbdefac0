import { type ObjectSchema, parseSchema } from '../decoding/object-schema.ts';
import { type FieldRow, kubeletConfigurationFields } from './fields.ts';

/** Name of the outermost object in the schema. */
export const configurationObject = 'KubeletConfiguration';

const rows: Readonly<Record<string, Readonly<Record<string, FieldRow>>>> = kubeletConfigurationFields;

/** The schema of the configuration for the decoder. */
export const configurationSchema: ObjectSchema = parseSchema(
  Object.fromEntries(
    Object.entries(rows).map(([object, fields]) => [
      object,
      Object.fromEntries(Object.entries(fields).map(([name, { kind }]) => [name, kind])),
    ]),
  ),
);

/** A field that holds a value, not only other fields. */
export interface ConfigurationField extends FieldRow {
  /** Such as `authentication.anonymous.enabled`. */
  path: string;
}

/**
 * Every field that holds a value, in the order of the table. A list of objects, or a pointer to one, counts as one
 * field.
 */
export function configurationFields(): ConfigurationField[] {
  return fieldsBelow(configurationObject, '').filter(({ path }) => path !== 'apiVersion' && path !== 'kind');
}

function fieldsBelow(object: string, parent: string): ConfigurationField[] {
  return Object.entries(rows[object] ?? {}).flatMap(([name, row]) => {
    const path = parent === '' ? name : `${parent}.${name}`;
    return row.kind in rows ? fieldsBelow(row.kind, path) : [{ ...row, path }];
  });
}
