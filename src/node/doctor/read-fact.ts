import { type Clock, systemClock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import { withTimeout } from '../../flow/with-timeout.ts';
import { isDenied } from '../../process/needs-root.ts';
import type { Fact } from './checks/finding.ts';

/** Time limit of one reader in milliseconds. A file on a lost network disk never answers. */
const readMs = 8000;

/** The result of a reader as a fact. Never rejects. `name` is the subject of the sentence if it failed. */
export async function readFact<T>(
  name: string,
  read: () => Promise<T>,
  limitMs = readMs,
  clock: Clock = systemClock,
): Promise<Fact<T>> {
  try {
    return { value: await withTimeout(clock, limitMs, read()) };
  } catch (error) {
    return { unseen: isDenied(error) ? `${name}: only root can see this` : `${name}: ${errorMessage(error)}` };
  }
}
