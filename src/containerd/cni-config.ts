import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa, type ExecaError } from 'execa';
import { searchFolders } from './find-containerd.ts';
import { computeFreeSubnet, formatSubnet, parseRoutes, parseSubnet, type Subnet } from './cni-subnet.ts';
import { subnetOf, SubnetClaims } from './subnet-claims.ts';
import { systemClock } from '../clock.ts';
import { withFileLock } from '../files/file-lock.ts';
import type { Logger } from '../logger.ts';
import { pathExists } from '../files/path-exists.ts';
import { writeFileAtomic } from '../files/write-file-atomic.ts';

export interface CNIOptions {
  /** Folder of our own configuration: `<root-dir>/cni/net.d`. */
  readonly confDir: string;
  /** The machine's folder. If an administrator put a configuration there, it is used unchanged. */
  readonly machineConfDir?: string;
  /** Folders to search for CNI plugins, best first. */
  readonly binDirs?: readonly string[];
  /** Routes of the host. The pods' subnet must not overlap them. */
  readonly hostRoutes?: readonly Subnet[];
  /** Folders to search for iptables. */
  readonly programFolders?: readonly string[];
  /** Folder in which the root-dirs of this machine record their subnets. */
  readonly claimsDir?: string;
}

/** The CNI folders for containerd, and warnings. */
export interface CNISetup {
  readonly confDir: string;
  readonly binDir: string;
  /** Subnet of our bridge network. Undefined if the machine has its own configuration or no network is possible. */
  readonly subnet: string | undefined;
  /** Sentences for the user. They do not concern pods on the host network. */
  readonly warnings: readonly string[];
}

export const usualBinDirs = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni', '/usr/lib64/cni'];
/** The bridge network needs all of these. */
export const neededPlugins = ['bridge', 'host-local', 'loopback'];
const optionalPlugins = ['portmap', 'firewall'];
export const usualClaimsDir = '/run/kubelet-ts/subnets';
export const confFileName = '10-kubelet-ts.conflist';

/** Uses the machine's CNI configuration. If there is none, writes one for a bridge network. */
export async function ensureCNIConfig(options: CNIOptions): Promise<CNISetup> {
  const { confDir, machineConfDir = '/etc/cni/net.d', binDirs = usualBinDirs } = options;
  const folders = await Promise.all(binDirs.map(async (dir) => ({ dir, plugins: await listFolder(dir) })));
  const { dir: binDir, plugins } = bestBinDir(folders);
  if (await hasConfig(machineConfDir)) return { confDir: machineConfDir, binDir, subnet: undefined, warnings: [] };

  const none = (warning: string): CNISetup => ({ confDir, binDir, subnet: undefined, warnings: [warning] });
  const missing = neededPlugins.filter((name) => !plugins.includes(name));
  if (missing.length > 0) {
    return none(
      `CNI plugins are missing (${missing.join(', ')}; looked in ${binDirs.join(', ')}): only pods with hostNetwork: true can run. ` +
        'Install them (containernetworking-plugins on Debian and Fedora, cni-plugins on Alpine and openSUSE) and start again.',
    );
  }
  const hasIptables = await hasProgram('iptables', options.programFolders ?? searchFolders(process.env['PATH']));
  const chained = hasIptables ? optionalPlugins.filter((name) => plugins.includes(name)) : [];
  const subnet = await writeBridgeConfig(options, (chosen) =>
    generateBridgeConfig({ subnet: chosen, ipMasq: hasIptables, chained }),
  );
  if (subnet === undefined) {
    return none(
      `Every private subnet is in use by a route of this machine: only pods with hostNetwork: true can run. Put a CNI configuration into ${machineConfDir}.`,
    );
  }
  return { confDir, binDir, subnet, warnings: bridgeWarnings(hasIptables, chained) };
}

/**
 * Writes the configuration with its earlier subnet, or else with one that no route and no other root-dir uses.
 * Root-dirs choose one after another. Returns undefined if no subnet is free.
 */
async function writeBridgeConfig(
  { confDir, hostRoutes, claimsDir = usualClaimsDir }: CNIOptions,
  configOf: (subnet: string) => string,
): Promise<string | undefined> {
  const file = join(confDir, confFileName);
  const claims = new SubnetClaims(claimsDir);
  return withFileLock(join(claimsDir, 'lock'), systemClock, async () => {
    // Keeps an earlier subnet, because pods have addresses in it. The bridge's own route does not conflict.
    const subnet = (await subnetOf(file)) ?? (await freeSubnet(hostRoutes, await claims.ofOthers(file)));
    if (subnet === undefined) return undefined;
    await writeFileAtomic(file, configOf(subnet), 0o644);
    await claims.add(file);
    return subnet;
  });
}

interface BridgeRemoval {
  logger: Logger;
  /**
   * Lists the interfaces of this process's network namespace. /sys would show those of the namespace that mounted it.
   */
  interfacesFile?: string;
  /** Path of `ip` (iproute2), which minimal systems lack. */
  ip?: string;
  claimsDir?: string;
}

/**
 * Removes our bridge once no pods are left. Does nothing if there is no bridge or another root-dir uses the same one.
 * Keeps a bridge that has other interfaces or cannot be removed, and logs that.
 */
export async function removeBridge(
  confDir: string,
  { logger, interfacesFile = '/proc/net/dev', ip = 'ip', claimsDir = usualClaimsDir }: BridgeRemoval,
): Promise<void> {
  const file = join(confDir, confFileName);
  const subnet = await subnetOf(file);
  if (subnet === undefined || !(await interfaceNames(interfacesFile)).includes(bridgeName(subnet))) return;
  if ((await new SubnetClaims(claimsDir).ofOthers(file)).includes(subnet)) return;
  const bridge = bridgeName(subnet);
  try {
    const { stdout: ports } = await execa(ip, ['-o', 'link', 'show', 'master', bridge]);
    if (ports !== '')
      logger.warn({ bridge, ports: ports.split('\n').length }, 'Kept the bridge, because others use it');
    else await execa(ip, ['link', 'delete', bridge]);
  } catch (error) {
    const { code, stderr } = error as ExecaError;
    const reason = code === 'ENOENT' ? '"ip" is missing, install the package iproute2' : String(stderr).trim();
    logger.warn(`Kept the bridge ${bridge} (${reason}); remove it with "ip link delete ${bridge}"`);
  }
}

/** Returns the interface names: the first column, below two header lines. */
async function interfaceNames(file: string): Promise<string[]> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(2);
  return lines.map((line) => line.split(':')[0]?.trim() ?? '');
}

/** Generates a bridge network in which pods reach each other, the host and, through it, other machines. */
function generateBridgeConfig(options: {
  readonly subnet: string;
  readonly ipMasq: boolean;
  readonly chained: readonly string[];
}): string {
  const { subnet, ipMasq, chained } = options;
  const config = {
    // Supported by every release of the plugins since 2018.
    cniVersion: '0.4.0',
    name: 'kubelet-ts',
    plugins: [
      {
        type: 'bridge',
        bridge: bridgeName(subnet),
        isGateway: true,
        ipMasq,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet }]],
          routes: [{ dst: '0.0.0.0/0' }],
          // Addresses in use do not survive a reboot, and neither do the pods.
          dataDir: '/run/kubelet-ts/cni',
        },
      },
      ...chained.map((type) => (type === 'portmap' ? { type, capabilities: { portMappings: true } } : { type })),
    ],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

/**
 * Name of the bridge of a subnet, such as `kts0ade00` for 10.222.0.0/24. Names differ by subnet because a bridge left
 * over from another subnet has the wrong address.
 */
function bridgeName(subnet: string): string {
  const octets = subnet.split('.').slice(0, 3).map(Number);
  return `kts${Buffer.from(octets).toString('hex')}`;
}

function bridgeWarnings(hasIptables: boolean, chained: readonly string[]): string[] {
  if (!hasIptables) return ['iptables is not installed: pods cannot reach other machines, and hostPort does not work.'];
  if (!chained.includes('portmap')) return ['The CNI plugin portmap is missing: hostPort does not work.'];
  return [];
}

/** Returns the folder that contains most of the known plugins, or the first folder if all lack them. */
function bestBinDir(folders: readonly { dir: string; plugins: string[] }[]): { dir: string; plugins: string[] } {
  const known = [...neededPlugins, ...optionalPlugins];
  const count = ({ plugins }: { plugins: string[] }): number => known.filter((name) => plugins.includes(name)).length;
  const [first = { dir: '/opt/cni/bin', plugins: [] }, ...others] = folders;
  return others.reduce((best, folder) => (count(folder) > count(best) ? folder : best), first);
}

async function hasConfig(dir: string): Promise<boolean> {
  return (await listFolder(dir)).some((name) => /\.(conf|conflist|json)$/.test(name));
}

async function freeSubnet(
  hostRoutes: readonly Subnet[] | undefined,
  claimed: readonly string[],
): Promise<string | undefined> {
  const routes = hostRoutes ?? parseRoutes(await readFile('/proc/net/route', 'utf8').catch(() => ''));
  const subnet = computeFreeSubnet([...routes, ...claimed.map(parseSubnet)]);
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
