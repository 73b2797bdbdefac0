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
   * True: a volume whose folder has the group and its bits is left alone. As in Kubernetes, this is not for volumes
   * that the node makes or rewrites.
   */
  onRootMismatch?: boolean;
  /** Warned once of all entries that keep their owner or mode. */
  logger?: Pick<Logger, 'warn'> | undefined;
}

/**
 * Gives a volume to the pod's fsGroup. The group may read everything and, unless `readOnly`, write it. New files in its
 * folders belong to the group too. Containers may change the volume meanwhile: no link is followed. An entry whose file
 * system refuses the change is left as it is. kubelet: pkg/volume/volume_linux.go SetVolumeOwnership
 */
export async function setVolumeOwnership(path: string, ownership: Ownership): Promise<void> {
  const { fsGroup: group, readOnly, onRootMismatch = false, logger } = ownership;
  if (group === undefined) return;
  const fileBits = readOnly ? 0o440 : 0o660;
  if (onRootMismatch && (await isGivenTo(path, group, fileBits))) return;
  const refused = new Refusals();
  await walkTree(path, async (folder, { name }) => {
    refused.add(await giveToGroup(folder.at(name), group, fileBits), name);
    return undefined;
  });
  refused.add(await giveToGroup(path, group, fileBits), Buffer.from(basename(path)).toString('latin1'));
  if (refused.first !== undefined) {
    const { err, name } = refused.first;
    logger?.warn(
      { err, path, first: name, entries: refused.entries },
      'Parts of a volume do not belong to its fsGroup',
    );
  }
}

/** The entries that keep their owner or mode. Only the first one is described, because a volume may have any number. */
class Refusals {
  entries = 0;
  first: { err: string; name: string } | undefined;

  /** `name`: one character a byte. */
  add(error: unknown, name: string): void {
    if (error === undefined) return;
    this.entries += 1;
    this.first ??= {
      err: boundedText(errorMessage(error), textLimits.message),
      name: Buffer.from(name, 'latin1').toString(),
    };
  }
}

/** True if the pod wants the ownership of its volumes changed only where it differs. */
export function changesOwnershipOnMismatch({ spec }: Pod): boolean {
  return spec.securityContext?.fsGroupChangePolicy === 'OnRootMismatch';
}

async function isGivenTo(path: string, group: number, fileBits: number): Promise<boolean> {
  const { gid, mode } = await lstat(path);
  const bits = fileBits | folderBits;
  return gid === group && (mode & bits) === bits;
}

const folderBits = 0o2110;

/** Resolves with the first error of a change that was refused. Rejects if the entry cannot be looked at. */
async function giveToGroup(path: string | Buffer, group: number, fileBits: number): Promise<unknown> {
  try {
    if ((await lstat(path)).isSymbolicLink()) return await refusal(lchown(path, -1, group));
    // By descriptor, because a container could put a link in its place.
    return await giveEntryToGroup(await OpenEntry.open(path), group, fileBits);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function giveEntryToGroup(entry: OpenEntry, group: number, fileBits: number): Promise<unknown> {
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

/** The error of a change to an entry, if it fails. A missing entry needs none. */
async function refusal(change: Promise<void>): Promise<unknown> {
  try {
    await change;
    return undefined;
  } catch (error) {
    return hasCode(error, 'ENOENT') ? undefined : error;
  }
}
