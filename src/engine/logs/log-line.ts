/** One parsed line of a container log file. */
export interface LogLine {
  /** `docker-json` comes from cri-dockerd. */
  readonly format: LogFormat;
  /** `stdout` or `stderr`. Docker-json lines may have any text. */
  readonly stream: string;
  /** RFC 3339 with nine fractional digits. */
  readonly timestamp: string;
  /** Output of the container. Ends in a newline unless the line continues in the next entry. */
  readonly log: Buffer;
}

export type LogFormat = 'cri' | 'docker-json';

const space = 0x20;
const newline = 0x0a;

/**
 * Parses a line with its line end, in the given format or the first that matches. Returns undefined if no format
 * matches. kubelet: cri-client logs.go parseCRILog, parseDockerJSONLog, getParseFunc
 */
export function parseLogLine(line: Buffer, format?: LogFormat): LogLine | undefined {
  if (format === 'cri') return parseCri(line);
  if (format === 'docker-json') return parseDockerJson(line);
  return parseCri(line) ?? parseDockerJson(line);
}

/** `<time> <stream> <tags> <text>`. Tags are separated by `:`; the first is P for a partial line. */
function parseCri(line: Buffer): LogLine | undefined {
  const timeEnd = line.indexOf(space);
  const streamEnd = line.indexOf(space, timeEnd + 1);
  const tagsEnd = line.indexOf(space, streamEnd + 1);
  if (timeEnd < 0 || streamEnd < 0 || tagsEnd < 0) return undefined;
  const timestamp = fixedTimestamp(line.toString('latin1', 0, timeEnd));
  const stream = line.toString('latin1', timeEnd + 1, streamEnd);
  if (timestamp === undefined || (stream !== 'stdout' && stream !== 'stderr')) return undefined;
  const [firstTag] = line.toString('latin1', streamEnd + 1, tagsEnd).split(':');
  const cut = firstTag === 'P' && line.at(-1) === newline && line.length > tagsEnd + 1 ? -1 : undefined;
  return { format: 'cri', stream, timestamp, log: line.subarray(tagsEnd + 1, cut) };
}

function parseDockerJson(line: Buffer): LogLine | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line.toString());
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || Array.isArray(value)) return undefined;
  const fields: Record<string, unknown> = {};
  // Go ignores case in the names of JSON fields.
  for (const [name, field] of Object.entries(value ?? {})) fields[name.toLowerCase()] = field ?? undefined;
  const { log = '', stream = '', time = '0001-01-01T00:00:00Z' } = fields;
  if (typeof log !== 'string' || typeof stream !== 'string' || typeof time !== 'string') return undefined;
  const timestamp = fixedTimestamp(time);
  return timestamp === undefined ? undefined : { format: 'docker-json', stream, timestamp, log: Buffer.from(log) };
}

const timePattern = /^(\d{4}-\d\d-\d\d)T(\d{1,2}):([0-5]\d):([0-5]\d)(?:[.,](\d+))?(?:Z|([-+])(\d\d):(\d\d))$/;

/**
 * Returns the time with nine fractional digits. Returns undefined if it is not in Go's format `time.RFC3339Nano`, or if
 * the day does not exist.
 */
function fixedTimestamp(text: string): string | undefined {
  const [, day = '', hour = '', minute = '', second = '', fraction = '', sign, zoneHour = '0', zoneMinute = '0'] =
    timePattern.exec(text) ?? [];
  if (day === '' || !isDay(day) || Number(hour) > 23 || Number(zoneHour) > 24 || Number(zoneMinute) > 60) {
    return undefined;
  }
  const zoneMinutes = 60 * Number(zoneHour) + Number(zoneMinute);
  const zone =
    zoneMinutes === 0 ? 'Z' : `${sign ?? '+'}${twoDigits(Math.floor(zoneMinutes / 60))}:${twoDigits(zoneMinutes % 60)}`;
  return `${day}T${twoDigits(hour)}:${minute}:${second}.${fraction.slice(0, 9).padEnd(9, '0')}${zone}`;
}

/** False for 30 February, which `Date` would read as 1 March. */
function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

const twoDigits = (value: number | string): string => String(value).padStart(2, '0');
