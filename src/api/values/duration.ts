const nanosecondsByUnit: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);
const second = 1_000_000_000n;
const maxNanoseconds = 2n ** 63n - 1n;

/**
 * Parses a duration as Go writes it, such as `1h30m` or `-1.5s`, to nanoseconds. Returns undefined if the text is not a
 * duration. Go: time.ParseDuration
 */
export function parseDuration(text: string): bigint | undefined {
  const [, sign = '', magnitude = ''] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  if (magnitude === '0') return 0n;
  if (magnitude === '' || magnitude.length > 200) return undefined;
  let nanoseconds = 0n;
  let rest = magnitude;
  while (rest !== '') {
    const match = /^([0-9]*)(?:\.([0-9]*))?([^0-9.]+)/.exec(rest);
    if (!match) return undefined;
    const [part, whole = '', fraction = '', unitName = ''] = match;
    const unit = nanosecondsByUnit.get(unitName);
    if (unit === undefined || whole + fraction === '') return undefined;
    nanoseconds += BigInt(whole) * unit + (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length);
    rest = rest.slice(part.length);
  }
  if (sign === '-') return nanoseconds > maxNanoseconds + 1n ? undefined : -nanoseconds;
  return nanoseconds > maxNanoseconds ? undefined : nanoseconds;
}

/** A duration as Go prints it: `1h30m0s`, `1.5s`, `500ms`, `0s`. Go: Duration.String */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s';
  const sign = nanoseconds < 0n ? '-' : '';
  const magnitude = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (magnitude < 1_000n) return `${sign}${magnitude}ns`;
  if (magnitude < 1_000_000n) return `${sign}${decimal(magnitude, 3)}µs`;
  if (magnitude < second) return `${sign}${decimal(magnitude, 6)}ms`;
  const minutes = magnitude / (60n * second);
  const hours = minutes / 60n;
  const seconds = `${decimal(magnitude % (60n * second), 9)}s`;
  if (hours > 0n) return `${sign}${hours}h${minutes % 60n}m${seconds}`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

/** Milliseconds, also with a fraction, as Go prints a duration. */
export function formatDurationMs(milliseconds: number): string {
  const whole = Math.trunc(milliseconds);
  return formatDuration(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1_000_000)));
}

/** A duration in at most two units, as in `kubectl`: `45s`, `5m30s`, `3h`, `2d4h`. apimachinery: HumanDuration */
export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  const minutes = Math.trunc(seconds / 60);
  const hours = Math.trunc(minutes / 60);
  const days = Math.trunc(hours / 24);
  if (seconds < 0) {
    // The clocks of a runtime and its reader may differ slightly.
    return seconds < -1 ? '<invalid>' : '0s';
  }
  if (seconds < 120) {
    return `${seconds}s`;
  }
  if (minutes < 180) {
    return minutes < 10 ? twoUnits(minutes, 'm', seconds % 60, 's') : `${minutes}m`;
  }
  if (hours < 48) {
    return hours < 8 ? twoUnits(hours, 'h', minutes % 60, 'm') : `${hours}h`;
  }
  if (days < 2 * 365) {
    return days < 8 ? twoUnits(days, 'd', hours % 24, 'h') : `${days}d`;
  }
  const years = Math.trunc(days / 365);
  return years < 8 ? twoUnits(years, 'y', days % 365, 'd') : `${years}y`;
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** `value` with its last `places` digits after the decimal point, trailing zeros dropped. */
function decimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  return digits.slice(0, -places) + (fraction === '' ? '' : `.${fraction}`);
}
