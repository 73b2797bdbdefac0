/** The names of one log's rotated files: `<log>.YYYYMMDD-HHMMSS` in local time, with `.gz` if compressed. */

const compressed = '.gz';
const temporary = '.tmp';
const stampPattern = /^(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)$/;
const minuteMs = 60_000;
const secondMs = 1000;

export const compressedName = (name: string): string => `${name}${compressed}`;
export const temporaryName = (name: string): string => `${name}${temporary}`;
export const isTemporary = (name: string): boolean => name.endsWith(temporary);

/** One rotated file, which may exist compressed, uncompressed or both. */
export interface RotatedLog {
  /** Stamps sort in the order of rotation. */
  stamp: string;
  /** Name without `.gz`. */
  name: string;
}

/** Returns the rotated files of `log` among the names in its folder, oldest first. */
export function rotatedLogs(log: string, names: readonly string[]): RotatedLog[] {
  const stamps = new Set<string>();
  for (const name of names) {
    if (!name.startsWith(`${log}.`)) continue;
    const stamp = name.slice(log.length + 1, name.endsWith(compressed) ? -compressed.length : undefined);
    if (stampPattern.test(stamp)) stamps.add(stamp);
  }
  return [...stamps].sort().map((stamp) => ({ stamp, name: `${log}.${stamp}` }));
}

/**
 * Returns the name for `log` when it is rotated at `now`, in milliseconds since the epoch. It sorts after the rotated
 * files in `names`, even if the clock was set back. kubelet: logs/container_log_manager.go rotateLatestLog
 */
export function nextRotatedName(log: string, names: readonly string[], now: number): string {
  // The local time, treated as if it were UTC.
  const local = now - new Date(now).getTimezoneOffset() * minuteMs;
  const newest = rotatedLogs(log, names).at(-1);
  const earliest = newest === undefined ? local : timeOfStamp(newest.stamp) + secondMs;
  return `${log}.${stampOf(Math.max(local, earliest))}`;
}

const stampOf = (ms: number): string =>
  new Date(ms)
    .toISOString()
    .replace(/[-:]|\..*/g, '')
    .replace('T', '-');

function timeOfStamp(stamp: string): number {
  const [year = 0, month = 0, ...rest] = (stampPattern.exec(stamp) ?? []).slice(1).map(Number);
  const [day, hour, minute, second] = rest;
  const time = Date.UTC(year, month - 1, day, hour, minute, second);
  // A forged stamp in the last year of the format must not count.
  return year < 9999 ? time : -Infinity;
}

/** What to do with a log's rotated files before the log itself is rotated. */
export interface LogTidying {
  remove: string[];
  compress: string[];
}

/**
 * Plans for the regular files of a log's folder: removes temporary files, uncompressed files that have a compressed
 * twin, and the oldest ones. `maxFiles - 2` remain, because the log and its next rotated file count too. kubelet:
 * logs/container_log_manager.go filterUnusedLogs, removeExcessLogs
 */
export function computeLogTidying(log: string, names: readonly string[], maxFiles: number): LogTidying {
  const rotated = names.filter((name) => name.startsWith(`${log}.`));
  const present = new Set(rotated);
  const isUsed = (name: string): boolean =>
    !isTemporary(name) && (name.endsWith(compressed) || !present.has(compressedName(name)));
  const used = rotated.filter(isUsed).sort();
  const kept = used.slice(Math.max(0, used.length - (maxFiles - 2)));
  const isKept = new Set(kept);
  return {
    remove: rotated.filter((name) => !isKept.has(name)),
    compress: kept.filter((name) => !name.endsWith(compressed)),
  };
}
