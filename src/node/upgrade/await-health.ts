import { watch } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readUpgradeState } from './program-files.ts';

/**
 * Waits until the new program is healthy or the guard has restored the previous one. Returns 'pending' if neither
 * happens before the signal is aborted. Rejects with a file system error.
 */
export async function awaitHealth(program: string, signal: AbortSignal): Promise<'healthy' | 'restored' | 'pending'> {
  const decided = new AbortController();
  const changes = watch(dirname(program), { signal: AbortSignal.any([signal, decided.signal]) })[
    Symbol.asyncIterator
  ]();
  try {
    for (;;) {
      // Watches before it reads, so that no change is missed.
      const changed = changes.next();
      // The promise may fail before it is awaited below.
      changed.catch(() => undefined);
      const state = await readUpgradeState(program);
      if (state?.kind !== 'pending') return state === undefined ? 'healthy' : 'restored';
      await changed;
    }
  } catch (error) {
    if (signal.aborted) return 'pending';
    throw error;
  } finally {
    decided.abort();
  }
}
