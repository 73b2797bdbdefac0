import { join } from 'node:path';
import { namesIn } from '../../names-in.ts';
import { formatHistory } from './history-entry.ts';
import { appendHistory, historyPath, readHistory, syncHistory } from './history-file.ts';
import { historyOf } from './pod-history.ts';

/**
 * Records that everything of the pod with this UID was removed, while no agent runs. Its restart counts begin at 0
 * again. Without `pod`, its name, all histories are searched. Rejects with the error of the file system.
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
    await appendHistory(path, formatHistory([line]), () => formatHistory(history.restarts()));
    await syncHistory(path);
  }
}

/**
 * The files with restart counts of this UID. Several only if manifests gave the UID to several pods. Rejects with the
 * error of the file system.
 */
export async function historiesWithCounts(folder: string, podUID: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await namesIn(folder)).filter((file) => file.endsWith('.jsonl'))) {
    const path = join(folder, name);
    if (historyOf(await readHistory(path)).hasCounts(podUID)) found.push(path);
  }
  return found;
}
