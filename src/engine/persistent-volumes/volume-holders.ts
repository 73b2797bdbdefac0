import { join } from 'node:path';
import type { ClaimName } from '../../api/values/persistent-volume.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import { listFolder } from '../../files/list-folder.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import type { Logger } from '../../logger.ts';
import { unknownClaim } from './compute-binding.ts';

const maxRecordBytes = 64 * 1024;

const volumesFolder = (rootDir: string): string => join(rootDir, 'persistent-volumes');

/** The file that names the claim of a declared volume. */
export function holderRecord(rootDir: string, volume: string): string {
  return join(volumesFolder(rootDir), volume, 'claim.json');
}

/**
 * Returns by volume the claim that is bound to it. A damaged record counts as held by no known claim, so that no claim
 * gets another claim's data.
 */
export async function readHolders(rootDir: string, logger?: Pick<Logger, 'warn'>): Promise<Map<string, ClaimName>> {
  const holders = new Map<string, ClaimName>();
  for (const volume of await listFolder(volumesFolder(rootDir))) {
    const claim = await readHolder(holderRecord(rootDir, volume), logger);
    if (claim !== undefined) holders.set(volume, claim);
  }
  return holders;
}

async function readHolder(path: string, logger: Pick<Logger, 'warn'> | undefined): Promise<ClaimName | undefined> {
  try {
    const value: unknown = JSON.parse((await readRegularFile(path, maxRecordBytes)).toString());
    const { claimRef } = Object(value) as { claimRef?: unknown };
    const { namespace, name } = Object(claimRef) as Partial<Record<keyof ClaimName, unknown>>;
    if (typeof namespace === 'string' && typeof name === 'string') return { namespace, name };
    throw new Error('it names no claim');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    logger?.warn({ err: errorMessage(error), path }, 'The record of a persistent volume is damaged');
    return unknownClaim;
  }
}
