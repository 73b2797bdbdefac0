import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readRegularFile } from '../files/regular-file.ts';
import { hasCode, isOutOfResources } from '../errors.ts';
import { makeFolder } from '../files/make-folder.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';

/** Of a CNI configuration or a claim. */
const maxFileBytes = 64 * 1024;

/**
 * The subnet in a CNI configuration of ours. Returns undefined if there is none. Rejects if the file cannot be read,
 * because another subnet would separate the pods that run.
 */
export async function subnetOf(file: string): Promise<string | undefined> {
  return /"subnet":\s*"([0-9./]+)"/.exec(await readText(file))?.[1];
}

/**
 * Records which CNI configuration of this machine uses which subnet. The kernel cannot report that, because a bridge
 * has no route before its first pod. There is one file for each configuration, with its path; it counts while the
 * configuration has a subnet. The files do not survive a reboot, like the bridges.
 */
export class SubnetClaims {
  constructor(private readonly folder: string) {}

  /**
   * The subnets of all other configurations. Removes the records of missing ones. Ignores a configuration that cannot
   * be read, and keeps its record. Rejects if this process lacks descriptors or memory.
   */
  async ofOthers(file: string): Promise<string[]> {
    const names = await readdir(this.folder).catch(orIfMissing([]));
    const claims = names.filter((name) => name.endsWith('.claim') && name !== nameOf(file));
    const subnets = await Promise.all(claims.map((name) => this.subnetOfClaim(join(this.folder, name))));
    return subnets.filter((subnet) => subnet !== undefined);
  }

  private async subnetOfClaim(claim: string): Promise<string | undefined> {
    try {
      const subnet = await subnetOf(await readText(claim));
      if (subnet === undefined) await rm(claim, { force: true });
      return subnet;
    } catch (error) {
      if (isOutOfResources(error)) throw error;
      // Another root-dir may be broken, or on a disk that is away.
      return undefined;
    }
  }

  /** Records this configuration. Rejects with the error of the file system. */
  async add(file: string): Promise<void> {
    await makeFolder(this.folder, 0o700);
    await writeFileAtomic(join(this.folder, nameOf(file)), file);
  }
}

const nameOf = (file: string): string => `${createHash('sha256').update(file).digest('hex').slice(0, 32)}.claim`;

/** Empty if the file is missing. */
const readText = (file: string): Promise<string> =>
  readRegularFile(file, maxFileBytes, { followLinks: true }).then((bytes) => bytes.toString(), orIfMissing(''));

function orIfMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return value;
    throw error;
  };
}
