import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { withFileLock } from '../files/file-lock.ts';
import { findProgram, searchFolders } from '../process/find-program.ts';
import { type PacketFilter, packetFilter } from './network/packet-filter.ts';
import { defaultReservationsDir } from './subnet-reservations.ts';

/** Finds iptables and ip6tables. Empty if the machine has neither. */
export async function findPacketFilters(): Promise<PacketFilter[]> {
  const folders = searchFolders(process.env['PATH']);
  const [iptables, ip6tables] = await Promise.all([
    findProgram('iptables', folders),
    findProgram('ip6tables', folders),
  ]);
  return [
    ...(iptables === undefined ? [] : [packetFilter('IPv4', iptables)]),
    ...(ip6tables === undefined ? [] : [packetFilter('IPv6', ip6tables)]),
  ];
}

/** Runs work while no other agent of this machine changes its rules. */
export const withRulesLock = <T>(clock: Clock, work: () => Promise<T>): Promise<T> =>
  withFileLock(join(defaultReservationsDir, 'rules'), clock, work);
