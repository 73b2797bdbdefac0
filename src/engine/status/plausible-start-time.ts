import { formatTime } from '../../api/values/time.ts';
import { oldestRelease } from '../../process/build-time.ts';

/** Milliseconds. The clocks of a runtime and the agent may differ by less. */
const toleranceMs = 1000;

/**
 * Returns the start time of a pod. If it is from before the machine's clock was set, such as 1970, or later than now
 * because the clock was set back, returns the time that the clock would have shown then. `since` returns the
 * milliseconds since the start.
 */
export function plausibleStartTime(startTime: string, { now, since }: { now: number; since: () => number }): string {
  const at = Date.parse(startTime);
  const isTooOld = at < oldestRelease && now >= oldestRelease;
  return isTooOld || at > now + toleranceMs ? formatTime(now - since()) : startTime;
}
