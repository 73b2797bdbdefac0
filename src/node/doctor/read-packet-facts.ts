import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { execa } from 'execa';
import { pathExists } from '../../files/path-exists.ts';
import type { LinkFacts, PacketFacts } from './checks/facts.ts';
import { parseDroppingChains, parseSavedRules, type SavedRules } from './parse-ruleset.ts';

/** Milliseconds. iptables waits for its lock. */
const programMs = 3000;
const maxRulesBytes = 16 * 1024 * 1024;

/** Reads what decides whether packets of pods arrive. `iptables` and `nft` are the paths of these programs. */
export async function readPackets({
  iptables,
  nft,
}: {
  iptables: string | undefined;
  nft: string | undefined;
}): Promise<PacketFacts> {
  const [bridges, uplinks, hasFirewalld, rules, droppingChains] = await Promise.all([
    readBridges(),
    readUplinks(),
    pathExists('/run/firewalld.pid'),
    iptables === undefined ? undefined : readRules(iptables),
    nft === undefined ? [] : readDroppingChains(nft),
  ]);
  return { bridges, uplinks, hasFirewalld, ...(rules && { rules }), droppingChains };
}

/** The bridges of kubelet-ts that have pods. */
function readBridges(): Promise<LinkFacts[]> {
  const ours = Object.entries(networkInterfaces()).filter(([name]) => name.startsWith('kts'));
  return Promise.all(
    ours.map(async ([name, addresses = []]) => {
      const routed = addresses.filter(({ address }) => !address.startsWith('fe80:'));
      return { name, families: [...new Set(routed.map(({ family }) => family))], ...(await readMTU(name)) };
    }),
  );
}

/** The interfaces with a default route. */
async function readUplinks(): Promise<PacketFacts['uplinks']> {
  const [ipv4 = '', ipv6 = ''] = await Promise.all(['/proc/net/route', '/proc/net/ipv6_route'].map(readText));
  const devices = { IPv4: parseIPv4Uplinks(ipv4), IPv6: parseIPv6Uplinks(ipv6) };
  const names = [...new Set([...devices.IPv4, ...devices.IPv6])];
  return Promise.all(
    names.map(async (name) => {
      const families = (['IPv4', 'IPv6'] as const).filter((family) => devices[family].includes(name));
      return { name, families, rpFilter: await readRPFilter(name), ...(await readMTU(name)) };
    }),
  );
}

const columnsOf = (table: string): string[][] => table.split('\n').map((line) => line.trim().split(/\s+/));

/** Columns: interface, destination, six others, mask of the destination. */
const parseIPv4Uplinks = (routes: string): string[] =>
  columnsOf(routes).flatMap(([name = '', destination, , , , , , mask]) =>
    destination === '00000000' && mask === '00000000' ? [name] : [],
  );

/** Columns: destination, length of its prefix, others, interface. The default route on lo rejects everything. */
const parseIPv6Uplinks = (routes: string): string[] =>
  columnsOf(routes).flatMap(([destination = '', length, ...others]) => {
    const name = others.at(-1) ?? 'lo';
    return /^0+$/.test(destination) && length === '00' && name !== 'lo' ? [name] : [];
  });

/** The kernel applies the larger of two settings. */
async function readRPFilter(name: string): Promise<number> {
  const values = await Promise.all(['all', name].map((one) => readText(`/proc/sys/net/ipv4/conf/${one}/rp_filter`)));
  return Math.max(...values.map(Number));
}

/** /sys shows the network namespace that mounted it, which may be another. */
async function readMTU(name: string): Promise<{ mtu?: number }> {
  const text =
    (await readText(`/proc/sys/net/ipv6/conf/${name}/mtu`)) || (await readText(`/sys/class/net/${name}/mtu`));
  return text === '' ? {} : { mtu: Number(text) };
}

const readText = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');

async function readRules(iptables: string): Promise<SavedRules | undefined> {
  const saved = await outputOf(`${iptables}-save`, []);
  return saved === undefined ? undefined : parseSavedRules(saved);
}

async function readDroppingChains(nft: string): Promise<string[]> {
  return parseDroppingChains((await outputOf(nft, ['list', 'ruleset'])) ?? '');
}

/** Returns undefined if this user has no permission, or if the program fails. */
async function outputOf(program: string, words: readonly string[]): Promise<string | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const { failed, stdout } = await execa(program, words, {
    reject: false,
    timeout: programMs,
    maxBuffer: maxRulesBytes,
  });
  return failed ? undefined : stdout;
}
