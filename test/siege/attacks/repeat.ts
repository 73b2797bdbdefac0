import { setTimeout as delay } from 'node:timers/promises';
import type { Siege } from '../attack.ts';

/** Acts again and again, with pauses between, until the siege is over. */
export async function repeat({ signal, hit }: Siege, everyMs: number, act: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await act();
    hit();
    await delay(everyMs, undefined, { signal }).catch(() => undefined);
  }
}
