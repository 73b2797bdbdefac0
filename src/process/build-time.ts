import { stat } from 'node:fs/promises';
import { ownProgram } from './own-program.ts';

/** No release of kubelet-ts is older, in milliseconds since the epoch. npm dates files of packages to 1985. */
export const oldestRelease = Date.UTC(2026, 0, 1);

/** Returns when this program was built, in milliseconds since the epoch. An earlier time is that of a clock not set. */
export async function buildTime(): Promise<number> {
  return Math.max((await stat(ownProgram())).mtimeMs, oldestRelease);
}
