import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { formatHistory } from './history-entry.ts';
import { appendHistory, historyPath, readHistory } from './history-file.ts';
import { historyOf } from './pod-history.ts';

/**
 * Writes that nothing is left of the pod of this UID, where no agent does: its restart counts begin at 0 again. `pod` is its
 * name; undefined: nobody knows it, and it is looked for in all histories. Rejects with the error of the file system.
 */
export async function writePodRemoved(
  folder: string,
  podUID: string,
  pod: { namespace: string; name: string } | undefined,
): Promise<void> {
  for (const path of pod === undefined ? await historiesWithCounts(folder, podUID) : [historyPath(folder, pod)]) {
    const history = historyOf(await readHistory(path));
    if (!history.hasCounts(podUID)) continue;
    const line = { kind: 'removed', podUID } as const;
    history.replay(line);
    const carried = (): string => formatHistory(history.restarts());
    await appendHistory(path, formatHistory([line]), { carried, isToLast: true });
  }
}

/** The files that count restarts of this UID: one, unless manifests gave it to several pods. Rejects with the error of the file system. */
export async function historiesWithCounts(folder: string, podUID: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await historyFiles(folder)) {
    const path = join(folder, name);
    if (historyOf(await readHistory(path)).hasCounts(podUID)) found.push(path);
  }
  return found;
}

async function historyFiles(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith('.jsonl'));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}
