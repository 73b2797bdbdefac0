import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import { execa } from 'execa';
import { findProgram, searchFolders } from '../process/find-program.ts';
import {
  collidingRoute,
  computeFreeSubnet,
  formatSubnet,
  overlap,
  parseRoutes,
  parseSubnet,
  type Route,
  type Subnet,
} from './cni-subnet.ts';
import type { PodCIDR } from './pod-cidr.ts';
import { bridgeNetworkOf, SubnetReservations, defaultReservationsDir } from './subnet-reservations.ts';
import { isIn } from './network/networked-sandbox.ts';
import type { BridgeNetwork } from './network/rules.ts';
import { readUplink, type Uplink } from './network/uplink.ts';
import { systemClock } from '../clock.ts';
import { hasCode, isOutOfResources, isSystemError } from '../errors.ts';
import { writeFailure } from '../files/file-failure.ts';
import { withFileLock } from '../files/file-lock.ts';
import { readRegularFile } from '../files/regular-file.ts';
import { jsonFault } from '../text/json-fault.ts';
import { pathExists } from '../files/path-exists.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';

export interface CNIOptions {
  /** Folder of our own configuration: `<root-dir>/cni/net.d`. */
  readonly confDir: string;
  /** The subnets that the user chose. */
  readonly podCIDR?: PodCIDR;
  /** The MTU that the user chose. Defaults to the uplink's. */
  readonly mtu?: number | undefined;
  /** The machine's folder. If an administrator put a configuration there, it is used unchanged. */
  readonly machineConfDir?: string;
  /** Folders to search for CNI plugins, best first. */
  readonly binDirs?: readonly string[];
  /** Routes of the host. The pods' subnet must not overlap them. */
  readonly hostRoutes?: readonly Route[];
  /** How the host reaches others. */
  readonly uplink?: Uplink;
  /** Folders to search for iptables. */
  readonly programFolders?: readonly string[];
  /** Folder in which the root-dirs of this machine record their subnets. */
  readonly reservationsDir?: string;
  /** Folder in which the plugin host-local records the addresses of pods, with one folder per bridge. */
  readonly addressesDir?: string;
  /** Exists while firewalld runs. */
  readonly firewalldFile?: string;
  /** True if a containerd with our configuration runs, so that no other can take its place. */
  readonly isFixed?: boolean;
}

/** The CNI folders for containerd, and warnings. */
export interface CNISetup {
  readonly confDir: string;
  readonly binDir: string;
  /** IPv4 subnet of our bridge. Undefined if the machine has its own configuration or no network is possible. */
  readonly subnet: string | undefined;
  /** Sentences for the user. They do not concern pods on the host network. */
  readonly warnings: readonly string[];
}

export const usualBinDirs = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni', '/usr/lib64/cni'];
/** The bridge network needs all of these. */
export const neededPlugins = ['bridge', 'host-local', 'loopback'];
/** Puts pods into the trusted zone of firewalld, which rejects what no zone allows. */
const firewallPlugin = 'firewall';
export const confFileName = '10-kubelet-ts.conflist';
/** Addresses in use do not survive a reboot, and neither do the pods. */
const defaultAddressesDir = '/run/kubelet-ts/cni';
const maxConfigBytes = 1024 * 1024;
const networkName = 'kubelet-ts';
const howToSwitch = 'run "kubelet-ts down --all" and start again';

/**
 * Uses the machine's CNI configuration. If there is none, writes one for a bridge network. While pods are on our
 * bridge, it stays. If a disk refuses to write, such as a full /run, returns a warning.
 */
export async function ensureCNIConfig(options: CNIOptions): Promise<CNISetup> {
  const { confDir, binDirs = usualBinDirs } = options;
  const folders = await Promise.all(binDirs.map(async (dir) => ({ dir, plugins: await listFolder(dir) })));
  const { dir: binDir, plugins } = bestBinDir(folders);
  try {
    return await chooseConfig(options, binDir, plugins);
  } catch (error) {
    if (!isSystemError(error) || isOutOfResources(error)) throw error;
    const { path = confDir } = error;
    const warning = `The pod network cannot be configured, because ${path} cannot be written: ${writeFailure(path, error)}. Until it can, pods with their own network may not start.`;
    return { confDir, binDir, subnet: undefined, warnings: [warning] };
  }
}

/** Rejects with the error of the file system. */
async function chooseConfig(options: CNIOptions, binDir: string, plugins: readonly string[]): Promise<CNISetup> {
  const { confDir, machineConfDir = '/etc/cni/net.d', binDirs = usualBinDirs } = options;
  const current = await readCurrent(options);
  const machineConfig = await machineConfigIn(machineConfDir);
  const keepsOwn = current.isUsed || options.isFixed === true;
  if (machineConfig !== undefined && !keepsOwn)
    return { confDir: machineConfDir, binDir, subnet: undefined, warnings: await faultsOf(machineConfig) };

  const none = (warning: string): CNISetup => ({ confDir, binDir, subnet: undefined, warnings: [warning] });
  const missing = neededPlugins.filter((name) => !plugins.includes(name));
  if (missing.length > 0) {
    return none(
      `CNI plugins are missing (${missing.join(', ')}; looked in ${binDirs.join(', ')}): only pods with hostNetwork: true can run. ` +
        'Install them (containernetworking-plugins on Debian and Fedora, cni-plugins on Alpine and openSUSE) and start again.',
    );
  }
  const written = await writeBridgeConfig(options, current, plugins);
  if (written === undefined) {
    return none(
      `Every private subnet is in use by a route of this machine: only pods with hostNetwork: true can run. Choose one with --pod-cidr, or put a CNI configuration into ${machineConfDir}.`,
    );
  }
  const warnings = [
    ...((await hasProgram('iptables', programFolders(options)))
      ? []
      : ['iptables is not installed: pods cannot reach other machines, and hostPort does not work.']),
    ...(machineConfig === undefined
      ? []
      : [`${machineConfig} is not used while pods are on the bridge of kubelet-ts; to switch to it, ${howToSwitch}.`]),
    ...(current.isDamaged ? [`${join(confDir, confFileName)} was damaged and is written anew.`] : []),
    ...written.warnings,
  ];
  return { confDir, binDir, subnet: written.subnet, warnings };
}

/** Our configuration as it is, and whether a pod has an address in its subnet. */
interface Current {
  readonly network: BridgeNetwork | undefined;
  readonly isUsed: boolean;
  /** True if an earlier release wrote it. Its plugins clean up after their pods only while it stays. */
  readonly isEarlier: boolean;
  /** True if it names no bridge or no subnet, for example after a power cut. */
  readonly isDamaged: boolean;
}

async function readCurrent(options: CNIOptions): Promise<Current> {
  const { confDir, addressesDir = defaultAddressesDir } = options;
  const file = join(confDir, confFileName);
  const network = await bridgeNetworkOf(file);
  if (network === undefined) return { network, isUsed: false, isEarlier: false, isDamaged: await pathExists(file) };
  const text = await readFile(file, 'utf8');
  const ownDir = join(addressesDir, network.bridge);
  const hasOwnDir = text.includes(`"${ownDir}"`);
  const used = (await listFolder(join(hasOwnDir ? ownDir : addressesDir, networkName))).filter((name) => isIPv4(name));
  const isUsed = used.some((address) => isIn(network, address));
  const isEarlier = !hasOwnDir || text.includes('"portmap"');
  return { network, isUsed, isEarlier, isDamaged: false };
}

/** True if a pod has an address on our bridge, perhaps since an earlier release. */
export async function hasPods(network: BridgeNetwork): Promise<boolean> {
  const folders = [join(defaultAddressesDir, network.bridge), defaultAddressesDir];
  const names = await Promise.all(folders.map((folder) => listFolder(join(folder, networkName))));
  return names.flat().some((name) => isIPv4(name) && isIn(network, name));
}

/**
 * Writes the configuration with its earlier subnet, or else with one that no route and no other root-dir uses.
 * Root-dirs choose one after another. Returns undefined if no subnet is free.
 */
async function writeBridgeConfig(
  options: CNIOptions,
  current: Current,
  plugins: readonly string[],
): Promise<{ subnet: string; warnings: string[] } | undefined> {
  const { confDir, reservationsDir = defaultReservationsDir, addressesDir = defaultAddressesDir } = options;
  const { uplink = await readUplink() } = options;
  const file = join(confDir, confFileName);
  const reservations = new SubnetReservations(reservationsDir);
  const routes = options.hostRoutes ?? parseRoutes(await readFile('/proc/net/route', 'utf8').catch(() => ''));
  return withFileLock(join(reservationsDir, 'lock'), systemClock, async () => {
    const others = (await reservations.ofOthers(file)).map(parseSubnet);
    const subnet = keptSubnet(options, current, { routes, others }) ?? freeSubnet([...routes, ...others]);
    if (subnet === undefined) return undefined;
    const chained = plugins.includes(firewallPlugin) && (await hasFirewalld(options)) ? [firewallPlugin] : [];
    const ipv6 = await ipv6Subnet(options, current, uplink);
    const subnets = [subnet, ...(ipv6.length > 0 && (await acceptAdvertisements(uplink)) ? ipv6 : [])];
    const mtu = options.mtu ?? uplink.mtu;
    const text = generateBridgeConfig({ subnets, chained, mtu, addressesDir });
    if (!(current.isUsed && current.isEarlier) && text !== (await readFile(file, 'utf8').catch(() => '')))
      await writeFileAtomic(file, text, 0o644);
    await reservations.add(file);
    return { subnet, warnings: subnetWarnings(subnet, options, { routes, isUsed: current.isUsed }) };
  });
}

/**
 * Pods that run keep their subnet. Otherwise the user's choice counts, or the earlier one that no route overlaps. Two
 * root-dirs on one bridge would replace each other's rules.
 */
function keptSubnet(
  { podCIDR }: CNIOptions,
  { network, isUsed }: Current,
  { routes, others }: { routes: readonly Route[]; others: readonly Subnet[] },
): string | undefined {
  const [subnet] = network?.subnets ?? [];
  if (isUsed) return subnet;
  const isReserved = (text: string): boolean => others.some((other) => overlap(other, parseSubnet(text)));
  if (podCIDR?.ipv4 !== undefined && !isReserved(podCIDR.ipv4)) return podCIDR.ipv4;
  if (subnet === undefined || network === undefined || isReserved(subnet)) return undefined;
  return collidingRoute(parseSubnet(subnet), network.bridge, routes) === undefined ? subnet : undefined;
}

function subnetWarnings(
  subnet: string,
  { podCIDR }: CNIOptions,
  { routes, isUsed }: { routes: readonly Route[]; isUsed: boolean },
): string[] {
  const bridge = bridgeName(subnet);
  const route = collidingRoute(parseSubnet(subnet), bridge, routes);
  const chosen = podCIDR?.ipv4 ?? subnet;
  const why = isUsed
    ? `waits, because pods use ${subnet}; to switch, ${howToSwitch}.`
    : `is not used, because another root-dir of this machine uses it: pods get ${subnet}.`;
  return [
    ...(route === undefined
      ? []
      : [`${describeCollision(subnet, bridge, route)}; to get another subnet, ${howToSwitch}.`]),
    ...(chosen === subnet ? [] : [`--pod-cidr ${chosen} ${why}`]),
  ];
}

/** A sentence for the log and for `doctor`. */
export function describeCollision(subnet: string, bridge: string, route: Route): string {
  return `The route ${formatSubnet(route)} of ${route.device} overlaps the pods' subnet ${subnet} (bridge ${bridge}), so one of them is cut off`;
}

/**
 * An IPv6 subnet, only once the machine reaches others by IPv6, because forwarding has a price: see
 * `acceptAdvertisements`. From then on it is kept.
 */
async function ipv6Subnet(options: CNIOptions, { network, isUsed }: Current, uplink: Uplink): Promise<string[]> {
  const current = network?.subnets.filter((subnet) => subnet.includes(':')) ?? [];
  if (isUsed && current.length > 0) return current;
  if (options.podCIDR?.ipv6 !== undefined) return [options.podCIDR.ipv6];
  if (current.length > 0 || uplink.ipv6Devices.length === 0) return current;
  if (!(await canTranslateIPv6(options))) return [];
  // RFC 4193: the prefix fd, then 40 random bits. The rest numbers the subnets of a site.
  const [first = '', ...rest] =
    randomBytes(5)
      .toString('hex')
      .match(/^..|..../g) ?? [];
  return [`fd${first}:${rest.join(':')}::/64`];
}

/** False without ip6tables, or if the kernel has no NAT of IPv6: no rule for a host port could be set. */
async function canTranslateIPv6(options: CNIOptions): Promise<boolean> {
  const ip6tables = await findProgram('ip6tables', programFolders(options));
  if (ip6tables === undefined) return false;
  const listing = await execa(ip6tables, ['-w', '10', '-t', 'nat', '-S'], { reject: false, timeout: 15_000 });
  return !listing.failed;
}

/**
 * A node that forwards IPv6, as the plugin makes it do, ignores the advertisements of routers, and would lose its own
 * address and route. The value 2 accepts them nevertheless. Resolves to false where it cannot be set, as in a
 * container.
 */
async function acceptAdvertisements({ ipv6Devices }: Uplink): Promise<boolean> {
  for (const device of ipv6Devices) {
    const file = `/proc/sys/net/ipv6/conf/${device}/accept_ra`;
    const value = await readFile(file, 'utf8').catch(() => '');
    if (value.trim() !== '1') continue;
    try {
      await writeFile(file, '2');
    } catch (error) {
      if (!hasCode(error, 'EROFS', 'EACCES', 'EPERM')) throw error;
      return false;
    }
  }
  return true;
}

const hasFirewalld = ({ firewalldFile = '/run/firewalld.pid' }: CNIOptions): Promise<boolean> =>
  pathExists(firewalldFile);

const programFolders = (options: CNIOptions): readonly string[] =>
  options.programFolders ?? searchFolders(process.env['PATH']);

/** Generates a bridge network in which pods reach each other and the host. `NetworkRules` connects it with others. */
function generateBridgeConfig(options: {
  readonly subnets: readonly string[];
  readonly chained: readonly string[];
  readonly mtu: number | undefined;
  readonly addressesDir: string;
}): string {
  const { subnets, chained, mtu, addressesDir } = options;
  const bridge = bridgeName(subnets[0] ?? '');
  const config = {
    // Supported by every release of the plugins since 2018.
    cniVersion: '0.4.0',
    name: networkName,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        ipMasq: false,
        hairpinMode: true,
        ...(mtu !== undefined && { mtu }),
        ipam: {
          type: 'host-local',
          ranges: subnets.map((subnet) => [{ subnet }]),
          routes: subnets.map((subnet) => ({ dst: subnet.includes(':') ? '::/0' : '0.0.0.0/0' })),
          // The plugin records the last address that it gave. In one folder for several subnets, each would begin anew
          // after the other, and a pod would get the address of one that just stopped. Others do not reach it then.
          dataDir: join(addressesDir, bridge),
        },
      },
      ...chained.map((type) => ({ type })),
    ],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

/**
 * Name of the bridge of a subnet, such as `kts0ade00` for 10.222.0.0/24. Names differ by subnet because a bridge left
 * over from another subnet has the wrong address.
 */
function bridgeName(subnet: string): string {
  const octets = subnet.split(/[./]/).slice(0, 4).map(Number);
  return `kts${Buffer.from(octets.at(-1) === 0 ? octets.slice(0, 3) : octets).toString('hex')}`;
}

/** Returns the folder that contains most of the known plugins, or the first folder if all lack them. */
function bestBinDir(folders: readonly { dir: string; plugins: string[] }[]): { dir: string; plugins: string[] } {
  const known = [...neededPlugins, firewallPlugin];
  const count = ({ plugins }: { plugins: string[] }): number => known.filter((name) => plugins.includes(name)).length;
  const [first = { dir: '/opt/cni/bin', plugins: [] }, ...others] = folders;
  return others.reduce((best, folder) => (count(folder) > count(best) ? folder : best), first);
}

/** Why a runtime cannot load a configuration, and so has no network. */
async function faultsOf(file: string): Promise<string[]> {
  const text = await readRegularFile(file, maxConfigBytes, { followLinks: true }).then(String, () => '');
  const fault = jsonFault(text);
  return fault === undefined
    ? []
    : [`The CNI configuration ${file} is not valid (${fault}): only pods with hostNetwork: true can run. Correct it.`];
}

/** The first file that a runtime would load from a folder. */
async function machineConfigIn(dir: string): Promise<string | undefined> {
  const [first] = (await listFolder(dir)).filter((name) => /\.(conf|conflist|json)$/.test(name)).sort();
  return first === undefined ? undefined : join(dir, first);
}

function freeSubnet(reserved: readonly Subnet[]): string | undefined {
  const subnet = computeFreeSubnet(reserved);
  return subnet === undefined ? undefined : formatSubnet(subnet);
}

/** Skips folders that cannot be read, because these paths come from PATH. */
async function hasProgram(name: string, folders: readonly string[]): Promise<boolean> {
  const found = await Promise.all(folders.map((folder) => pathExists(join(folder, name)).catch(() => false)));
  return found.includes(true);
}

async function listFolder(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => []);
}
