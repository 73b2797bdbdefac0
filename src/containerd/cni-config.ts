import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa, type ExecaError } from 'execa';
import { searchFolders } from './find-containerd.ts';
import { computeFreeSubnet, formatSubnet, parseRoutes, parseSubnet, type Subnet } from './cni-subnet.ts';
import { subnetOf, SubnetClaims } from './subnet-claims.ts';
import { systemClock } from '../clock.ts';
import { exclusively } from '../exclusively.ts';
import type { Logger } from '../logger.ts';
import { writeFileAtomic } from '../write-file-atomic.ts';

export interface CNIOptions {
  /** Where our own configuration goes: `<root-dir>/cni/net.d`. */
  readonly confDir: string;
  /** The machine's; what an administrator put there is used as it is. */
  readonly machineConfDir?: string;
  /** Folders that may hold CNI plugins, best first. */
  readonly binDirs?: readonly string[];
  /** Routes of the host, which the pods' subnet must not meet. */
  readonly hostRoutes?: readonly Subnet[];
  /** Folders to look for iptables in. */
  readonly programFolders?: readonly string[];
  /** Where root-dirs of this machine note their subnets. */
  readonly claimsDir?: string;
}

/** Which CNI folders containerd shall use, and what will not work with them. */
export interface CNISetup {
  readonly confDir: string;
  readonly binDir: string;
  /** Subnet of the bridge network we configured; undefined when the machine has a configuration of its own, or none is possible. */
  readonly subnet: string | undefined;
  /** Sentences for the user. Pods on the host network work whatever they say. */
  readonly warnings: readonly string[];
}

const usualBinDirs = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni', '/usr/lib64/cni'];
const neededPlugins = ['bridge', 'host-local', 'loopback'];
const optionalPlugins = ['portmap', 'firewall'];
const usualClaimsDir = '/run/kubelet-ts/subnets';
const confFileName = '10-kubelet-ts.conflist';

/** Uses the machine's CNI configuration, or writes one of a bridge network where there is none. */
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
 * Writes the configuration with the subnet that it had, or one that neither a route nor another root-dir has. They choose one
 * after the other. Undefined: there is none.
 */
async function writeBridgeConfig(
  { confDir, hostRoutes, claimsDir = usualClaimsDir }: CNIOptions,
  configOf: (subnet: string) => string,
): Promise<string | undefined> {
  const file = join(confDir, confFileName);
  const claims = new SubnetClaims(claimsDir);
  return exclusively(join(claimsDir, 'lock'), systemClock, async () => {
    // It stays: pods have addresses in it, and the bridge now has its route.
    const subnet = (await subnetOf(file)) ?? (await freeSubnet(hostRoutes, await claims.ofOthers(file)));
    if (subnet === undefined) return undefined;
    await writeFileAtomic(file, configOf(subnet), 0o644);
    await claims.add(file);
    return subnet;
  });
}

interface BridgeRemoval {
  logger: Logger;
  /** What the kernel tells of the interfaces of the network namespace of this process; /sys tells of that of its mount. */
  interfacesFile?: string;
  /** The `ip` of iproute2, which minimal systems do not have. */
  ip?: string;
  claimsDir?: string;
}

/**
 * Removes the bridge that pods of our own configuration were on, once no pod is left. Without one nothing happens, nor while
 * another root-dir has the same; one that cannot be removed, or that others have interfaces on, stays, and that is said.
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
    if (ports !== '') logger.warn({ bridge, ports: ports.split('\n').length }, 'The bridge stays, others use it');
    else await execa(ip, ['link', 'delete', bridge]);
  } catch (error) {
    const { code, stderr } = error as ExecaError;
    const reason = code === 'ENOENT' ? 'there is no "ip" here, the package iproute2 has it' : String(stderr).trim();
    logger.warn(`The bridge ${bridge} stays (${reason}); "ip link delete ${bridge}" removes it`);
  }
}

/** The first column of the lines after the two of the heading. */
async function interfaceNames(file: string): Promise<string[]> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(2);
  return lines.map((line) => line.split(':')[0]?.trim() ?? '');
}

/** The configuration of a bridge network: pods reach each other, the host, and through it the world. */
export function generateBridgeConfig(options: {
  readonly subnet: string;
  readonly ipMasq: boolean;
  readonly chained: readonly string[];
}): string {
  const { subnet, ipMasq, chained } = options;
  const config = {
    // Every release of the plugins since 2018 has this version.
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
          // Addresses in use are gone after a reboot, as the pods are.
          dataDir: '/run/kubelet-ts/cni',
        },
      },
      ...chained.map((type) => (type === 'portmap' ? { type, capabilities: { portMappings: true } } : { type })),
    ],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

/** One bridge for each subnet, such as `kts0ade00` of 10.222.0.0/24: a bridge that another root-dir left has another address. */
function bridgeName(subnet: string): string {
  const octets = subnet.split('.').slice(0, 3).map(Number);
  return `kts${Buffer.from(octets).toString('hex')}`;
}

function bridgeWarnings(hasIptables: boolean, chained: readonly string[]): string[] {
  if (!hasIptables) return ['iptables is not installed: pods cannot reach other machines, and hostPort does not work.'];
  if (!chained.includes('portmap')) return ['The CNI plugin portmap is missing: hostPort does not work.'];
  return [];
}

/** The folder with most of the known plugins; the first one when none has any. */
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

async function hasProgram(name: string, folders: readonly string[]): Promise<boolean> {
  const found = await Promise.all(folders.map((folder) => exists(join(folder, name))));
  return found.includes(true);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function listFolder(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => []);
}
