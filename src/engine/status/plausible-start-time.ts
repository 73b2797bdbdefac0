import { formatTime } from '../../api/values/time.ts';
import { oldestRelease } from '../../process/build-time.ts';

/**
 * Returns the start time of a pod. If it is from before the machine's clock was set, such as 1970, returns the time
 * that the clock would have shown then. `since` returns the milliseconds since the start.
 */
export function plausibleStartTime(startTime: string, { now, since }: { now: number; since: () => number }): string {
  return Date.parse(startTime) >= oldestRelease || now < oldestRelease ? startTime : formatTime(now - since());
}
