import { join } from 'node:path';
import { PodDirs } from '../../engine/host/pod-dirs.ts';
import { readRecordFile } from '../../engine/host/record-file.ts';
import { readLastGood } from '../../engine/config/last-good/last-good-manifests.ts';
import { readRevision } from '../../engine/in-place/applied-revisions.ts';
import { readRecords } from '../../engine/operations/pod-records.ts';
import { readStatusRecord } from '../../engine/status/status-records.ts';
import { writeFileAtomic } from '../../files/write-file-atomic.ts';

/**
 * The format of the state in a root-dir. Raise it when an earlier release would misread or lose what this one writes.
 * Fields and files that an earlier release may ignore do not raise it.
 */
export const stateFormat = 1;

const fileOf = (rootDir: string): string => join(rootDir, 'state', 'format');

/** Returns the highest format that a release has written here. Rejects with a file system error. */
export async function readStateFormat(rootDir: string): Promise<number> {
  const parse = (bytes: Buffer): number | undefined => {
    const text = /^(\d{1,9})\n$/.exec(bytes.toString())?.[1];
    return text === undefined ? undefined : Number(text);
  };
  return (await readRecordFile(fileOf(rootDir), 64, parse)) ?? 0;
}

/** Records our format, unless a later release ran here. Returns the recorded one. Rejects with a file system error. */
export async function recordStateFormat(rootDir: string): Promise<number> {
  const format = await readStateFormat(rootDir);
  if (format >= stateFormat) return format;
  await writeFileAtomic(fileOf(rootDir), `${stateFormat}\n`);
  return stateFormat;
}

/**
 * Names each piece of state that this release can read. Changes nothing, so it can run next to an agent. Rejects with a
 * file system error.
 */
export async function readableState(rootDir: string): Promise<string[]> {
  const dirs = new PodDirs({ rootDir });
  const names: string[] = [];
  for (const { namespace, name } of await readRecords(rootDir)) names.push(`the revisions of ${namespace}/${name}`);
  for (const { where } of await readLastGood(rootDir)) names.push(`the last good manifest of ${where}`);
  for (const uid of await dirs.podUIDs()) {
    if ((await readStatusRecord(dirs.podDir(uid))) !== undefined) names.push(`the status of pod ${uid}`);
    if ((await readRevision(dirs.podDir(uid))) !== undefined) names.push(`the revision of pod ${uid}`);
  }
  return names;
}
