import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { unescape } from 'node:querystring';
import type { KubeletConfiguration } from '../../api/kubelet-configuration/types.ts';
import { fieldsWithoutEffect } from '../../api/kubelet-configuration/without-effect.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { FeatureGates } from '../../api/values/feature-gates.ts';
import { checkDNS1123Subdomain } from '../../api/values/names.ts';
import type { CgroupDriver } from '../../engine/container-manager/cgroup-names.ts';
import {
  type NodeAllocatableEnforcement,
  nodeAllocatableEnforcements,
} from '../../engine/container-manager/node-allocatable.ts';
import { SecretValues } from '../../engine/outgoing/secret-values.ts';
import { UserError } from '../../errors.ts';
import { flagsLayer } from './add-configuration-flags.ts';
import { detectNodeIPs } from './detect-node-ips.ts';
import { warnOfFlags } from './flags-without-effect.ts';
import { type ManifestURLFlags, type ManifestURLOptions, manifestURLOptions } from './manifest-url-options.ts';
import { parseNodeLabels } from './node-labels-flag.ts';
import { type ConfigurationFiles, readConfiguration } from './read-configuration.ts';

/**
 * What a node is to be: its configuration, and what only flags say.
 * kubelet: cmd/kubelet/app/options/options.go KubeletServer
 */
export interface NodeOptions
  extends Omit<KubeletConfiguration, 'cgroupDriver' | 'enforceNodeAllocatable' | 'featureGates'>, ManifestURLOptions {
  /** Used where the runtime does not say its own. */
  cgroupDriver: CgroupDriver;
  enforceNodeAllocatable: NodeAllocatableEnforcement[];
  /** Every gate, set or not. */
  featureGates: FeatureGates;
  manifestPaths: string[];
  rootDir: string;
  nodeName: string;
  nodeIPs: string[];
  nodeLabels: Record<string, string>;
  /** File of credential providers, and the folder of their programs; empty: none. */
  imageCredentialProviderConfig: string;
  imageCredentialProviderBinDir: string;
  /** Pods of ours that no manifest declares are left alone, instead of stopped. */
  leaveOrphans: boolean;
  /** What no text may tell. Credentials of URLs are in it; the engine and the sources add what they come to know. */
  secrets: SecretValues;
  /** What of the configuration deserves a word in the log. */
  warnings: ManifestProblem[];
  /** Fields that were set and have no effect here. */
  unusedFields: { field: string; reason: string }[];
}

/** Flags as commander hands them over, beside those for fields of the configuration. */
export interface NodeFlags extends ConfigurationFiles, ManifestURLFlags {
  podManifestPath?: string[];
  rootDir: string;
  containerRuntimeEndpoint?: string;
  hostnameOverride?: string;
  nodeIp?: string[];
  nodeLabels?: string[];
  imageCredentialProviderConfig?: string;
  imageCredentialProviderBinDir?: string;
}

/** Reads the configuration files that the flags name, and lays the flags over them. Throws a `UserError` for mistakes. */
export async function nodeOptions(flags: NodeFlags, manifests: readonly string[]): Promise<NodeOptions> {
  const { configuration, featureGates, warnings } = await readConfiguration(flags, flagsLayer(flags));
  const { staticPodPath, containerRuntimeEndpoint } = configuration;
  const paths = (flags.podManifestPath ?? [staticPodPath]).filter(isGiven);
  const urlOptions = manifestURLOptions({ ...manifestURLFlags(configuration), ...flags });
  const givenNodeIPs = flags.nodeIp?.filter(isGiven) ?? [];
  return {
    ...configuration,
    ...urlOptions,
    cgroupDriver: configuration.cgroupDriver === 'systemd' ? 'systemd' : 'cgroupfs',
    enforceNodeAllocatable: nodeAllocatableEnforcements.filter((word) =>
      configuration.enforceNodeAllocatable.includes(word),
    ),
    featureGates,
    containerRuntimeEndpoint: given(flags.containerRuntimeEndpoint) ?? containerRuntimeEndpoint,
    manifestPaths: [...manifests, ...paths].map((path) => resolve(path)),
    rootDir: resolve(flags.rootDir),
    nodeName: nodeNameOf(given(flags.hostnameOverride) ?? hostname()),
    nodeIPs: givenNodeIPs.length > 0 ? givenNodeIPs : detectNodeIPs(),
    nodeLabels: parseNodeLabels(flags.nodeLabels?.filter(isGiven)),
    imageCredentialProviderConfig: flags.imageCredentialProviderConfig ?? '',
    imageCredentialProviderBinDir: flags.imageCredentialProviderBinDir ?? '',
    leaveOrphans: false,
    secrets: secretsOfURLs(urlOptions),
    warnings: [...warnOfFlags(flags), ...warnings],
    unusedFields: fieldsWithoutEffect(configuration),
  };
}

/** Passwords and queries of URLs, and the headers that are sent with them. */
function secretsOfURLs({ manifestURLs, manifestURLHeaders }: ManifestURLOptions): SecretValues {
  const secrets = new SecretValues();
  const urls = manifestURLs.map((url) => new URL(url));
  const inURLs = urls.flatMap(({ password, search, searchParams }) => [
    password,
    search.slice(1),
    ...searchParams.values(),
  ]);
  const inHeaders = manifestURLHeaders.flatMap(([, value]) => [value, value.replace(/^\S+ /, '')]);
  secrets.set('manifest URLs', [...inURLs, ...inURLs.map(unescape), ...inHeaders]);
  return secrets;
}

/** A flag with an empty value says nothing. */
export const given = (value: string | undefined): string | undefined => (isGiven(value) ? value : undefined);
const isGiven = (value: string | undefined): boolean => value !== '';

/** What the configuration says of URLs, in the form of the flags that would say so. */
function manifestURLFlags({ staticPodURL, staticPodURLHeader }: KubeletConfiguration): ManifestURLFlags {
  const headers = Object.entries(staticPodURLHeader);
  return {
    manifestUrl: staticPodURL === '' ? [] : [staticPodURL],
    manifestUrlHeader: headers.flatMap(([name, values]) => values.map((value) => `${name}:${value}`)),
  };
}

/** The name of a node, from its host name or a flag. kubelet: component-helpers/node/util/hostname.go GetHostname */
export function nodeNameOf(text: string): string {
  const name = text.trim().toLowerCase();
  const message = name === '' ? undefined : checkDNS1123Subdomain(name);
  if (name !== '' && message === undefined) return name;
  const problem =
    name === '' ? 'the node has no name' : `the name of the node, ${JSON.stringify(name)}, ${message ?? ''}`;
  throw new UserError(problem, { hint: 'Set the host name, or give --hostname-override NAME.' });
}
