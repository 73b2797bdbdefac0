import { formatDuration, parseDuration } from '../../../src/api/values/duration.ts';
import { tableAdapter } from '../table-adapter.ts';

export const duration = tableAdapter<{ json: string }>('duration', ({ json }) => {
  const value: unknown = JSON.parse(json);
  const nanoseconds = typeof value === 'string' ? parseDuration(value) : undefined;
  if (nanoseconds === undefined) return { ok: false };
  return { ok: true, nanoseconds: nanoseconds.toString(), string: formatDuration(nanoseconds) };
});
