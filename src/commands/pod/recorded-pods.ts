import { readdir } from 'node:fs/promises';
import { historyFolder, podOfHistoryFile } from '../../engine/history/history-file.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { hasCode } from '../../errors.ts';
import { isDenied, needsRoot } from '../../needs-root.ts';

interface PodName {
  namespace: string;
  name: string;
}

/**
 * The pods with a history, also those that were removed. Root alone may read the folder: members of the control group
 * get the pods of the agent. Rejects with a `UserError` for another user.
 */
export async function recordedPods(rootDir: string, snapshot: EngineSnapshot | undefined): Promise<PodName[]> {
  const folder = historyFolder(rootDir);
  try {
    return (await readdir(folder)).flatMap((file) => podOfHistoryFile(file) ?? []);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    if (!isDenied(error)) throw error;
    if (snapshot === undefined) throw needsRoot(folder, error);
    return snapshot.pods.map(({ pod: { metadata } }) => ({ namespace: metadata.namespace, name: metadata.name }));
  }
}
