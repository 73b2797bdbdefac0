import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ifPresent } from '../files/if-present.ts';
import { readRegularFile } from '../files/regular-file.ts';
import { hasCode, isOutOfResources } from '../errors.ts';
import { makeFolder } from '../files/make-folder.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';
import type { BridgeNetwork } from './network/rules.ts';

/** Where the agents of this machine reserve subnets. */
export const defaultReservationsDir = '/run/kubelet-ts/subnets';

/** Limit for a CNI configuration or a reservation. */
const maxFileBytes = 64 * 1024;

/**
 * Returns the subnet in a CNI configuration of ours, or undefined if there is none. Rejects if the file cannot be read:
 * another subnet would cut off the running pods.
 */
export async function subnetOf(file: string): Promise<string | undefined> {
  return /"subnet":\s*"([0-9./]+)"/.exec(await readText(file))?.[1];
}

/**
 * Returns all subnets in a CNI configuration. Returns undefined if the file is missing. Rejects if it cannot be read.
 */
export async function subnetsIn(file: string): Promise<string[] | undefined> {
  const bytes = await ifPresent(readRegularFile(file, maxFileBytes));
  return bytes && allSubnets(bytes.toString());
}

const allSubnets = (text: string): string[] =>
  [...text.matchAll(/"subnet":\s*"([0-9a-f.:/]+)"/g)].map(([, subnet = '']) => subnet);

/** Returns the bridge in a CNI configuration of ours, as `subnetOf` does. */
export async function bridgeNetworkOf(file: string): Promise<BridgeNetwork | undefined> {
  const text = await readText(file);
  const bridge = /"bridge":\s*"([^"]+)"/.exec(text)?.[1];
  const subnets = allSubnets(text);
  return bridge === undefined || subnets.length === 0 ? undefined : { bridge, subnets };
}

/**
 * Records which CNI configuration, or which record of Services, on this machine uses which subnet. The kernel cannot
 * report that, because a bridge has no route before its first pod. Each configuration has one file with its path, which
 * counts while the configuration has a subnet. The files do not survive a reboot, and neither do the bridges.
 */
export class SubnetReservations {
  constructor(private readonly folder: string) {}

  /**
   * Returns the subnets of all other configurations. Removes the records of missing configurations. Ignores one that
   * cannot be read, but keeps its record. Rejects if this process lacks descriptors or memory.
   */
  async ofOthers(file: string): Promise<string[]> {
    const names = await readdir(this.folder).catch(orIfMissing([]));
    const reservations = names.filter((name) => name.endsWith('.claim') && name !== nameOf(file));
    const subnets = await Promise.all(reservations.map((name) => this.subnetOfReservation(join(this.folder, name))));
    return subnets.filter((subnet) => subnet !== undefined);
  }

  private async subnetOfReservation(reservation: string): Promise<string | undefined> {
    try {
      const subnet = await subnetOf(await readText(reservation));
      if (subnet === undefined) await rm(reservation, { force: true });
      return subnet;
    } catch (error) {
      if (isOutOfResources(error)) throw error;
      // Another root-dir may be broken, or on a disk that is not mounted.
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

/** Resolves to '' if the file is missing. */
const readText = (file: string): Promise<string> =>
  readRegularFile(file, maxFileBytes, { followLinks: true }).then((bytes) => bytes.toString(), orIfMissing(''));

function orIfMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return value;
    throw error;
  };
}
