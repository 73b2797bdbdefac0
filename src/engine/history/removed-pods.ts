import { join } from 'node:path';
import { listFolder } from '../../files/list-folder.ts';
import { formatHistory } from './history-entry.ts';
import { appendHistory, historyPath, readHistory, syncHistory } from './history-file.ts';
import { historyOf, type PodHistory } from './pod-history.ts';

/**
 * Records, while no agent runs, that everything of the pod with this UID was removed. Its restart counts start at 0
 * again. Without `pod`, its name, this searches all histories. Rejects with the file system's error.
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
 * Finds the files with restart counts of this UID. There are several only if manifests gave the UID to several pods.
 * Rejects with the file system's error.
 */
export async function historiesWithCounts(folder: string, podUID: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { path, history } of histories(folder)) if (history.hasCounts(podUID)) found.push(path);
  return found;
}

/** Returns the UIDs of those pods that an agent of this root-dir ran. Rejects with the file system's error. */
export async function podsWithHistory(folder: string, podUIDs: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for await (const { history } of histories(folder))
    for (const uid of podUIDs) if (history.hasRevision(uid)) found.add(uid);
  return found;
}

async function* histories(folder: string): AsyncGenerator<{ path: string; history: PodHistory }> {
  for (const name of (await listFolder(folder)).filter((file) => file.endsWith('.jsonl'))) {
    const path = join(folder, name);
    yield { path, history: historyOf(await readHistory(path)) };
  }
}
