import { hostname, networkInterfaces } from 'node:os';
import { resolve } from 'node:path';
import type { CgroupDriver } from '../engine/container-manager/cgroup-names.ts';
import { UserError } from '../errors.ts';
import type { ManifestURLFlags } from './manifest-url-flags.ts';
import { type ManifestURLOptions, manifestURLOptions } from './manifest-url-options.ts';
import { type ResourceFlags, type ResourceOptions, resourceOptions } from './resource-options.ts';

/** What the flags of `run` and `run-once` come to; names and defaults are the kubelet's, where it has the flag. */
export interface NodeOptions extends ResourceOptions, ManifestURLOptions {
  manifestPaths: string[];
  rootDir: string;
  runtimeEndpoint: string | undefined;
  imageServiceEndpoint: string | undefined;
  nodeName: string;
  nodeIPs: string[];
  resolvConf: string;
  clusterDNS: string[];
  clusterDomain: string;
  /** Undefined: what the runtime says, else cgroupfs. */
  cgroupDriver: CgroupDriver | undefined;
  cgroupRoot: string;
  healthzBindAddress: string;
  /** 0: none. */
  healthzPort: number;
  /** Milliseconds. */
  fileCheckFrequencyMs: number;
  maxParallelImagePulls: number;
  podLogsDir: string;
  seccompDefault: boolean;
  /** Pods of ours that no manifest declares are left alone, instead of stopped. */
  leaveOrphans: boolean;
}

/** Flags as commander hands them over. */
export interface NodeFlags extends ResourceFlags, ManifestURLFlags {
  podManifestPath?: string[];
  rootDir: string;
  containerRuntimeEndpoint?: string;
  imageServiceEndpoint?: string;
  hostnameOverride?: string;
  nodeIp?: string[];
  resolvConf: string;
  clusterDns?: string[];
  clusterDomain?: string;
  cgroupDriver?: string;
  cgroupRoot: string;
  healthzBindAddress: string;
  healthzPort: number;
  fileCheckFrequency?: number;
  maxParallelImagePulls: number;
  podLogsDir: string;
  seccompDefault: boolean;
}

/** kubelet: fileCheckFrequency */
const fileCheckFrequencyMs = 20_000;

export function nodeOptions(flags: NodeFlags, manifests: readonly string[]): NodeOptions {
  return {
    ...resourceOptions(flags),
    ...manifestURLOptions(flags),
    manifestPaths: [...manifests, ...(flags.podManifestPath ?? [])].map((path) => resolve(path)),
    rootDir: resolve(flags.rootDir),
    runtimeEndpoint: flags.containerRuntimeEndpoint,
    imageServiceEndpoint: flags.imageServiceEndpoint,
    nodeName: nodeNameOf(flags.hostnameOverride ?? hostname()),
    nodeIPs: flags.nodeIp ?? detectedNodeIPs(),
    resolvConf: flags.resolvConf,
    clusterDNS: flags.clusterDns ?? [],
    clusterDomain: flags.clusterDomain ?? '',
    cgroupDriver: parseCgroupDriver(flags.cgroupDriver),
    cgroupRoot: flags.cgroupRoot,
    healthzBindAddress: flags.healthzBindAddress,
    healthzPort: flags.healthzPort,
    fileCheckFrequencyMs: flags.fileCheckFrequency ?? fileCheckFrequencyMs,
    maxParallelImagePulls: flags.maxParallelImagePulls,
    podLogsDir: resolve(flags.podLogsDir),
    seccompDefault: flags.seccompDefault,
    leaveOrphans: false,
  };
}

/** The name of a node, from its host name or a flag. kubelet: component-helpers/node/util/hostname.go GetHostname */
export function nodeNameOf(text: string): string {
  const name = text.trim().toLowerCase();
  if (name !== '') return name;
  throw new UserError('the node has no name', { hint: 'Set the host name, or give --hostname-override NAME.' });
}

function parseCgroupDriver(text: string | undefined): CgroupDriver | undefined {
  if (text === undefined || text === 'cgroupfs' || text === 'systemd') return text;
  throw new UserError(`--cgroup-driver must be cgroupfs or systemd, not "${text}"`);
}

/** The first address that is not of this machine alone, IPv4 before IPv6; for both families name them. */
function detectedNodeIPs(): string[] {
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0);
  const primary = addresses.find(({ family }) => family === 'IPv4') ?? addresses[0];
  return primary === undefined ? [] : [primary.address];
}
