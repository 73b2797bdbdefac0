import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The subnet in a CNI configuration of ours. Returns undefined if there is none. */
export async function subnetOf(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return /"subnet":\s*"([0-9./]+)"/.exec(text)?.[1];
}

/**
 * Records which CNI configuration of this machine uses which subnet. The kernel cannot report that, because a bridge
 * has no route before its first pod. There is one file for each configuration, with its path; it counts while the
 * configuration has a subnet. The files do not survive a reboot, like the bridges.
 */
export class SubnetClaims {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** The subnets of all other configurations. Removes the records of missing configurations. */
  async ofOthers(file: string): Promise<string[]> {
    const names = await readdir(this.folder).catch(() => []);
    const claims = names.filter((name) => name.endsWith('.claim') && name !== nameOf(file));
    const subnets = await Promise.all(claims.map((name) => this.subnetOfClaim(join(this.folder, name))));
    return subnets.filter((subnet) => subnet !== undefined);
  }

  private async subnetOfClaim(claim: string): Promise<string | undefined> {
    const subnet = await subnetOf(await readFile(claim, 'utf8').catch(() => ''));
    if (subnet === undefined) await rm(claim, { force: true });
    return subnet;
  }

  /** Records this configuration. Rejects with the error of the file system. */
  async add(file: string): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await writeFile(join(this.folder, nameOf(file)), file, { mode: 0o600 });
  }
}

const nameOf = (file: string): string => `${createHash('sha256').update(file).digest('hex').slice(0, 32)}.claim`;
