import { setImmediate as nextTurn } from 'node:timers/promises';

/** True while a file operation of this process is pending. */
export const isFileAtWork = (): boolean =>
  process.getActiveResourcesInfo().some((resource) => resource.startsWith('FSReq') || resource === 'CloseReq');

/** Waits until this process has no pending file operation, including operations that others lead to. */
export async function untilFilesRest(): Promise<void> {
  for (let turns = 0; turns < 4; turns++) {
    await nextTurn();
    if (isFileAtWork()) turns = 0;
  }
}
