import { podSchema as kinds } from '../generated/pod-schema.ts';
import { parseSchema } from './object-schema.ts';

/** Everything a manifest may declare: every object with its fields. */
export const podSchema = parseSchema(kinds);
