import { podSchema as kinds } from '../generated/pod-schema.ts';
import { parseSchema } from './object-schema.ts';

/** Every object that a manifest may declare, with its fields. */
export const podSchema = parseSchema(kinds);
