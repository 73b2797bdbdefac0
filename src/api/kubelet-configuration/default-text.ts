import { formatDuration } from '../values/duration.ts';
import type { FieldRow } from './fields.ts';

/** The default of a field as written in a file. Empty for Go's zero value. */
export function defaultText({ kind, default: value }: FieldRow): string {
  if (typeof value === 'number' && /duration/i.test(kind)) return shortDuration(value);
  if (typeof value === 'object') {
    return Array.isArray(value)
      ? value.join(', ')
      : Object.entries(value)
          .map(([name, text]) => `${name}: ${text}`)
          .join(', ');
  }
  return value === undefined ? '' : String(value);
}

/** The usual short form: `2m` where Go prints `2m0s`. */
function shortDuration(milliseconds: number): string {
  return formatDuration(BigInt(milliseconds) * 1_000_000n)
    .replace(/m0s$/, 'm')
    .replace(/h0m$/, 'h');
}
