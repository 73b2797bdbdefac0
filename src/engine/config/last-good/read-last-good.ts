import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../../errors.ts';
import { readRegularFile } from '../../host/regular-file.ts';
import { decodeLastGood, type LastGood, maxLastGoodBytes } from './last-good-format.ts';
import { lastGoodFolder } from './last-good-manifests.ts';

/**
 * The newest good manifest of every origin, for programs beside the agent. Writes nothing, and skips files that the
 * agent is writing. Omits torn-down manifests. Rejects if the folder cannot be read.
 */
export async function readLastGood(rootDir: string): Promise<LastGood[]> {
  const folder = lastGoodFolder(rootDir);
  const entries = await Promise.all((await namesIn(folder)).map((name) => readEntry(join(folder, name))));
  const newest = new Map<string, LastGood>();
  for (const entry of entries) {
    const origin = `${entry?.source ?? ''} ${entry?.where ?? ''}`;
    if (entry !== undefined && entry.savedAt > (newest.get(origin)?.savedAt ?? -1)) newest.set(origin, entry);
  }
  return [...newest.values()].filter(({ tornDown }) => tornDown !== true);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.endsWith('.tmp')).sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

async function readEntry(path: string): Promise<LastGood | undefined> {
  try {
    return decodeLastGood(await readRegularFile(path, maxLastGoodBytes));
  } catch {
    // The file was just replaced, or it is damaged. The agent logs damaged files when it needs them.
    return undefined;
  }
}
