import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from '../../src/api/duration.ts';
import { loadTable } from '../golden-tables.ts';

test.each(loadTable<{ json: string }, { ok: boolean; nanoseconds?: string; string?: string }>('duration'))(
  'reads the duration $in.json as Go does',
  ({ in: { json }, out }) => {
    const value: unknown = JSON.parse(json);
    const nanoseconds = typeof value === 'string' ? parseDuration(value) : undefined;
    expect(
      nanoseconds === undefined
        ? { ok: false }
        : { ok: true, nanoseconds: nanoseconds.toString(), string: formatDuration(nanoseconds) },
    ).toEqual(out);
  },
);
