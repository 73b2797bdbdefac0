import { constants } from 'node:os';

/** `0`, `3`, or `137 (SIGKILL)`: shells and runtimes report a signal as 128 plus its number. */
export function exitText(exitCode: number): string {
  const signal = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0];
  return signal === undefined ? String(exitCode) : `${exitCode} (${signal})`;
}
