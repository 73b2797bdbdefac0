import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { withFileLock } from '../files/file-lock.ts';
import { setAside } from '../files/set-aside.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';
import type { Logger } from '../logger.ts';
import {
  collidingRoute,
  computeFreeServiceSubnet,
  formatSubnet,
  parseRoutes,
  parseSubnet,
  type Route,
  type Subnet,
} from './cni-subnet.ts';
import type { PodCIDR } from './pod-cidr.ts';
import { SubnetReservations, subnetsIn, defaultReservationsDir } from './subnet-reservations.ts';

interface Options {
  readonly rootDir: string;
  /** The subnets that the user chose. */
  readonly choice: PodCIDR;
  /** True if pods have IPv6 addresses of ours. */
  readonly hasIPv6: boolean;
  /** Defaults to those of this machine. */
  readonly routes?: readonly Route[];
  readonly reservationsDir?: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export const serviceSubnetsFile = (rootDir: string): string => join(rootDir, 'state', 'service-subnets.json');

/**
 * Returns the subnets for the addresses of Services, IPv4 first: those of the user, or those of earlier, or else some
 * that no route and no other root-dir uses. Rejects with a `UserError` if none is free.
 */
export async function openServiceSubnets(options: Options): Promise<readonly string[]> {
  const { rootDir, clock, logger, reservationsDir = defaultReservationsDir } = options;
  const file = serviceSubnetsFile(rootDir);
  const reservations = new SubnetReservations(reservationsDir);
  const routes = options.routes ?? parseRoutes(await readFile('/proc/net/route', 'utf8').catch(() => ''));
  return withFileLock(join(reservationsDir, 'lock'), clock, async () => {
    const others = (await reservations.ofOthers(file)).map(parseSubnet);
    const subnets = choose(options, await readKept(file, logger), [...routes, ...others]);
    warnOfRoutes(subnets, routes, logger);
    await writeFileAtomic(file, `${JSON.stringify({ subnets: subnets.map((subnet) => ({ subnet })) })}\n`);
    await reservations.add(file);
    return subnets;
  });
}

async function readKept(file: string, logger: Logger): Promise<readonly string[]> {
  const kept = await subnetsIn(file);
  if (kept?.length === 0) await setAside(file, 'no release of kubelet-ts writes such content', logger);
  return kept ?? [];
}

function choose({ choice, hasIPv6 }: Options, kept: readonly string[], reserved: readonly Subnet[]): string[] {
  if (choice.ipv4 !== undefined || choice.ipv6 !== undefined)
    return [choice.ipv4, choice.ipv6].filter((subnet) => subnet !== undefined);
  const ipv4 = kept.find((subnet) => !subnet.includes(':')) ?? freeSubnet(reserved);
  const ipv6 = kept.find((subnet) => subnet.includes(':'));
  return [ipv4, ...(ipv6 !== undefined ? [ipv6] : hasIPv6 ? [randomIPv6Subnet()] : [])];
}

function freeSubnet(reserved: readonly Subnet[]): string {
  const subnet = computeFreeServiceSubnet(reserved);
  if (subnet !== undefined) return formatSubnet(subnet);
  throw new UserError('every subnet for them overlaps a route of this machine', {
    hint: 'Choose one with --service-cidr.',
  });
}

/** RFC 4193: the prefix fd, then 40 random bits. The rest numbers the subnets of a site. */
function randomIPv6Subnet(): string {
  const [, first = '', second = '', third = ''] = /^(..)(....)(....)$/.exec(randomBytes(5).toString('hex')) ?? [];
  return `fd${first}:${second}:${third}::/112`;
}

function warnOfRoutes(subnets: readonly string[], routes: readonly Route[], logger: Logger): void {
  for (const subnet of subnets.filter((one) => !one.includes(':'))) {
    const route = collidingRoute(parseSubnet(subnet), '', routes);
    if (route === undefined) continue;
    const message = `The route ${formatSubnet(route)} of ${route.device} overlaps the subnet of Services, ${subnet}: pods cannot reach that network`;
    logger.warn({ hint: 'Choose another subnet with --service-cidr.' }, message);
  }
}
