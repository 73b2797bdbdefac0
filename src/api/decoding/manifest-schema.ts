import { manifestSchema as kinds } from '../generated/manifest-schema.ts';
import { parseSchema } from './object-schema.ts';

/** Every object that a manifest may declare, with its fields. */
export const manifestSchema = parseSchema(kinds);
