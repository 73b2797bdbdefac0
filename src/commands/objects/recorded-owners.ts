import { readdir } from 'node:fs/promises';
import type { PodName } from '../../api/values/pod-names.ts';
import type { HistoryEntry } from '../../engine/history/history-entry.ts';
import {
  historyFolder,
  historyPath,
  isObjectHistory,
  objectHistory,
  ownerOfHistoryFile,
  readHistory,
} from '../../engine/history/history-file.ts';
import { historyOf } from '../../engine/history/pod-history.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { hasCode } from '../../errors.ts';
import { isDenied, needsRoot } from '../../process/needs-root.ts';
import { fetchHistory } from '../../server/control/control-client.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';

/** The history of a pod, from the agent if it runs, otherwise from the disk. */
export async function pastOf(pod: PodName, rootDir: string, hasAgent: boolean): Promise<HistoryEntry[]> {
  const reported = hasAgent ? await fetchHistory(controlSocketPath(rootDir), pod) : undefined;
  return reported ?? historyOf(await readHistory(historyPath(historyFolder(rootDir), pod))).entries();
}

/** The pods with a history, including removed ones. Rejects like `recordedOwners`. */
export async function recordedPods(rootDir: string, snapshot: EngineSnapshot | undefined): Promise<PodName[]> {
  return (await recordedOwners(rootDir, snapshot)).filter((owner) => !isObjectHistory(owner));
}

/**
 * The pods with a history, including removed ones, and the objects with one by their names from `objectHistory`. Only
 * root may read the folder; members of the control group get what the agent has now. Rejects with a `UserError` for any
 * other user.
 */
export async function recordedOwners(rootDir: string, snapshot: EngineSnapshot | undefined): Promise<PodName[]> {
  const folder = historyFolder(rootDir);
  try {
    return (await readdir(folder)).flatMap((file) => ownerOfHistoryFile(file) ?? []);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    if (!isDenied(error)) throw error;
    if (snapshot === undefined) throw needsRoot(folder, error);
    return [
      ...snapshot.pods.map(({ pod: { metadata } }) => ({ namespace: metadata.namespace, name: metadata.name })),
      ...[...(snapshot.workloads ?? []), ...(snapshot.serviceProblems ?? [])].map(objectHistory),
    ];
  }
}
