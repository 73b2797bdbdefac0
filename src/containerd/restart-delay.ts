const longestDelayMs = 30_000;
/** A run this long ends a series of failures. */
export const steadyRunMs = 60_000;

/** How long to wait before containerd is started again after it ended: at once, then 0.5 s doubling up to 30 s. */
export function nextRestartDelayMs(failuresInARow: number): number {
  return failuresInARow === 0 ? 0 : Math.min(500 * 2 ** (failuresInARow - 1), longestDelayMs);
}
