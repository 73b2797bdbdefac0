import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { usualBinDirs } from '../../containerd/cni-config.ts';
import { generateInstallHint } from '../../containerd/find-containerd.ts';
import { findProgram, searchFolders } from '../../process/find-program.ts';
import { readResolvers } from '../../engine/network/resolvers.ts';
import { readRegularFile } from '../../files/regular-file.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { jsonFault } from '../../text/json-fault.ts';
import type { DNSFacts, NetworkFacts, RegistryFacts } from './checks/facts.ts';
import { readPackets } from './read-packet-facts.ts';
import { readSysctl } from './read-system-facts.ts';

const configFolder = '/etc/cni/net.d';
const maxConfigs = 20;
const maxConfigBytes = 1024 * 1024;
/** Milliseconds. iptables waits for its lock. */
const iptablesMs = 3000;
const registryMs = 5000;

export async function readNetwork(resolvConf: string): Promise<NetworkFacts> {
  const folders = searchFolders(process.env['PATH']);
  const [pluginFolders, configs, iptables, nft, ipForward, dns, osRelease] = await Promise.all([
    readPluginFolders(),
    readConfigs(),
    findProgram('iptables', folders),
    findProgram('nft', folders),
    readSysctl('net.ipv4.ip_forward'),
    resolvConf === '' ? undefined : readDNS(resolvConf),
    readFile('/etc/os-release', 'utf8').catch(() => ''),
  ]);
  const iptablesError = iptables === undefined ? undefined : await failureOf(iptables);
  return {
    pluginFolders,
    configs,
    ...(iptables !== undefined && { iptables }),
    ...(nft !== undefined && { nft }),
    ...(iptablesError !== undefined && { iptablesError }),
    packets: await readPackets({ iptables, nft }),
    ...(ipForward !== undefined && { ipForward }),
    ...(dns && { dns }),
    installHint: generateInstallHint(osRelease),
  };
}

async function readDNS(resolvConf: string): Promise<DNSFacts> {
  try {
    return { resolvConf, resolvers: await readResolvers(resolvConf) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { message, hint } = error;
    return { resolvConf, resolvers: { message, ...(hint !== undefined && { hint }) } };
  }
}

async function readPluginFolders(): Promise<NetworkFacts['pluginFolders']> {
  const found = await Promise.all(
    usualBinDirs.map(async (folder) => ({ folder, plugins: await readdir(folder).catch(() => []) })),
  );
  return found.filter(({ plugins }) => plugins.length > 0);
}

async function readConfigs(): Promise<NetworkFacts['configs']> {
  const names = (await readdir(configFolder).catch(() => [])).filter((name) => /\.(conf|conflist|json)$/.test(name));
  return Promise.all(
    names
      .sort()
      .slice(0, maxConfigs)
      .map((name) => readConfig(join(configFolder, name))),
  );
}

async function readConfig(path: string): Promise<NetworkFacts['configs'][number]> {
  try {
    const text = (await readRegularFile(path, maxConfigBytes, { followLinks: true })).toString('utf8');
    const fault = jsonFault(text);
    return { path, types: fault === undefined ? pluginTypes(JSON.parse(text)) : [], ...(fault && { error: fault }) };
  } catch (error) {
    return { path, types: [], error: errorMessage(error) };
  }
}

/** The programs that a CNI configuration names. Throws if it names none. */
function pluginTypes(config: unknown): string[] {
  const types = new Set<string>();
  JSON.stringify(config, (key, value: unknown) => {
    if (key === 'type' && typeof value === 'string') types.add(value);
    // A `type` with another value belongs to some other object.
    return key === '' || key === 'plugins' || key === 'ipam' || key === 'type' || /^\d+$/.test(key) ? value : undefined;
  });
  if (types.size === 0) throw new Error('it names no plugin');
  return [...types];
}

/** Why iptables cannot list its rules. Returns undefined if it can, or if this user may not. */
async function failureOf(iptables: string): Promise<string | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const { failed, stderr, timedOut } = await execa(iptables, ['-t', 'nat', '-S', 'POSTROUTING'], {
    reject: false,
    timeout: iptablesMs,
    maxBuffer: maxConfigBytes,
  });
  if (!failed) return undefined;
  return timedOut ? `no answer after ${iptablesMs / 1000} s` : (stderr.split('\n')[0] ?? '');
}

/** Queries a registry for its API, as a runtime does first. `host` may start with `http://`. Never rejects. */
export async function readRegistry(host: string): Promise<RegistryFacts> {
  const url = `${/^https?:\/\//.test(host) ? host : `https://${host}`}/v2/`;
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(registryMs) });
    await response.body?.cancel();
    return { url, answer: { status: response.status } };
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return { url, answer: { error: errorMessage(cause) || 'no connection' } };
  }
}
