import { mkdir, writeFile } from 'node:fs/promises';
import type { PodName } from '../../src/api/values/pod-names.ts';
import type { EventEntry } from '../../src/engine/history/history-entry.ts';
import { historyFolder, historyPath } from '../../src/engine/history/history-file.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** An event in a history. `of` is a pod, or a name from `objectHistory`. */
export interface Given {
  of: PodName;
  reason: string;
  at: number;
  message?: string;
  eventType?: EventEntry['eventType'];
  job?: string;
}

/** A root-dir with these events. */
export async function rootDirWith(events: readonly Given[]): Promise<string> {
  const rootDir = await temporaryFolder();
  await writeEvents(rootDir, events);
  return rootDir;
}

export async function writeEvents(rootDir: string, events: readonly Given[]): Promise<void> {
  await mkdir(historyFolder(rootDir), { recursive: true });
  for (const { of, at, reason, message = `${reason}!`, eventType = 'Normal', ...more } of events) {
    const event = { kind: 'event', podUID: 'uid', eventType, reason, message, count: 1, firstAt: at, lastAt: at };
    const line = JSON.stringify({ ...event, ...more });
    await writeFile(historyPath(historyFolder(rootDir), of), `${line}\n`, { flag: 'a' });
  }
}
