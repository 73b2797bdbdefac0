import { chmod, chown, lchown, lstat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Pod } from '../../api/types.ts';
import { boundedText } from '../../text/bounded-text.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { textLimits } from '../../text/text-limits.ts';
import { OpenEntry } from '../host/open-entry.ts';
import { walkTree } from '../host/walk-tree.ts';

interface Ownership {
  fsGroup: number | undefined;
  /** True if containers can only read the volume. */
  readOnly: boolean;
  /**
   * If true, skips a volume whose root already has the group and the mode bits. As in Kubernetes, not used for volumes
   * that the node creates or rewrites.
   */
  onRootMismatch?: boolean;
  /** Gets one warning about all entries that keep their owner or mode. */
  logger?: Pick<Logger, 'warn'> | undefined;
}

/**
 * Changes the group of a volume to the pod's fsGroup. The group may read everything and, unless `readOnly`, write it.
 * New files in its folders belong to the group too. Links are not followed, because containers may change the volume at
 * the same time. Skips entries whose file system refuses the change. kubelet: pkg/volume/volume_linux.go
 * SetVolumeOwnership
 */
export async function setVolumeOwnership(path: string, ownership: Ownership): Promise<void> {
  const { fsGroup: group, readOnly, onRootMismatch = false, logger } = ownership;
  if (group === undefined) return;
  const fileBits = readOnly ? 0o440 : 0o660;
  if (onRootMismatch && (await hasGroup(path, group, fileBits))) return;
  const refused = new Refusals();
  await walkTree(path, async (folder, { name }) => {
    refused.add(await changeGroup(folder.at(name), group, fileBits), name);
    return undefined;
  });
  refused.add(await changeGroup(path, group, fileBits), Buffer.from(basename(path)).toString('latin1'));
  if (refused.first !== undefined) {
    const { err, name } = refused.first;
    logger?.warn(
      { err, path, first: name, entries: refused.entries },
      'Could not apply fsGroup to some entries of a volume',
    );
  }
}

/** Counts the entries that keep their owner or mode. Describes only the first, because there may be any number. */
class Refusals {
  entries = 0;
  first: { err: string; name: string } | undefined;

  /** `name` has one character per byte. */
  add(error: unknown, name: string): void {
    if (error === undefined) return;
    this.entries += 1;
    this.first ??= {
      err: boundedText(errorMessage(error), textLimits.message),
      name: Buffer.from(name, 'latin1').toString(),
    };
  }
}

/** True if fsGroupChangePolicy is OnRootMismatch. */
export function changesOwnershipOnMismatch({ spec }: Pod): boolean {
  return spec.securityContext?.fsGroupChangePolicy === 'OnRootMismatch';
}

async function hasGroup(path: string, group: number, fileBits: number): Promise<boolean> {
  const { gid, mode } = await lstat(path);
  const bits = fileBits | folderBits;
  return gid === group && (mode & bits) === bits;
}

const folderBits = 0o2110;

/** Resolves with the first error of a refused change, or undefined. Rejects if the entry cannot be read. */
async function changeGroup(path: string | Buffer, group: number, fileBits: number): Promise<unknown> {
  try {
    if ((await lstat(path)).isSymbolicLink()) return await refusal(lchown(path, -1, group));
    // Use a descriptor, because a container could replace the entry with a link.
    return await changeEntryGroup(await OpenEntry.open(path), group, fileBits);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function changeEntryGroup(entry: OpenEntry, group: number, fileBits: number): Promise<unknown> {
  try {
    const chownRefusal = await refusal(chown(entry.path, -1, group));
    const mode = Number(entry.stats.mode) & 0o7777;
    const bits = fileBits | (entry.stats.isDirectory() ? folderBits : 0);
    const chmodRefusal = await refusal(chmod(entry.path, mode | bits));
    return chownRefusal ?? chmodRefusal;
  } finally {
    await entry.close();
  }
}

/** Resolves with the error if the change fails, or undefined. A missing entry is not an error. */
async function refusal(change: Promise<void>): Promise<unknown> {
  try {
    await change;
    return undefined;
  } catch (error) {
    return hasCode(error, 'ENOENT') ? undefined : error;
  }
}
