import { readFile } from 'node:fs/promises';
import { execa, type ExecaError } from 'execa';
import type { Logger } from '../logger.ts';
import type { BridgeNetwork } from './network/rules.ts';
import { SubnetReservations, defaultReservationsDir } from './subnet-reservations.ts';

interface BridgeRemoval {
  /** Our CNI configuration. */
  file: string;
  logger: Logger;
  /**
   * Lists the interfaces of this process's network namespace. /sys would show those of the namespace that mounted it.
   */
  interfacesFile?: string;
  /** Path of `ip` (iproute2), which minimal systems lack. */
  ip?: string;
  reservationsDir?: string;
}

const timeoutMs = 15_000;

/**
 * Removes our bridge once no pods are left. Does nothing if there is no bridge or another root-dir uses the same one.
 * Keeps a bridge that has other interfaces or cannot be removed, and logs that.
 */
export async function removeBridge(
  { bridge, subnets }: BridgeNetwork,
  { file, logger, interfacesFile, ip = 'ip', reservationsDir = defaultReservationsDir }: BridgeRemoval,
): Promise<void> {
  if (!(await interfaceNames(interfacesFile)).includes(bridge)) return;
  if ((await new SubnetReservations(reservationsDir).ofOthers(file)).some((other) => subnets.includes(other))) return;
  try {
    const { stdout: ports } = await execa(ip, ['-o', 'link', 'show', 'master', bridge], { timeout: timeoutMs });
    if (ports !== '')
      logger.warn({ bridge, ports: ports.split('\n').length }, 'Kept the bridge, because others use it');
    else await execa(ip, ['link', 'delete', bridge], { timeout: timeoutMs });
  } catch (error) {
    const { code, stderr, shortMessage } = error as ExecaError;
    const reason =
      code === 'ENOENT' ? '"ip" is missing, install the package iproute2' : String(stderr).trim() || shortMessage;
    logger.warn(`Kept the bridge ${bridge} (${reason}); remove it with "ip link delete ${bridge}"`);
  }
}

/** Returns the interface names: the first column, below two header lines. */
export async function interfaceNames(file = '/proc/net/dev'): Promise<string[]> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(2);
  return lines.map((line) => line.split(':')[0]?.trim() ?? '');
}
