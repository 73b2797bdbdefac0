import { humanDuration } from '../../api/values/duration.ts';
import type { NodePressureSnapshot } from './snapshot.ts';

/**
 * Returns a text such as `DiskPressure for 5m: nodefs.available is 60Mi, threshold 100Mi`. `now` is milliseconds since
 * the epoch.
 */
export function pressureText({ type, since, message }: NodePressureSnapshot, now: number): string {
  return `${type} for ${humanDuration(Math.max(0, now - since))}: ${message}`;
}
