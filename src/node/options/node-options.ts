import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { unescape } from 'node:querystring';
import { configuredRuntimeClasses } from '../../api/kubelet-configuration/runtime-classes.ts';
import type { GivenConfiguration, KubeletConfiguration } from '../../api/kubelet-configuration/types.ts';
import { fieldsWithoutEffect } from '../../api/kubelet-configuration/without-effect.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { FeatureGates } from '../../api/values/feature-gates.ts';
import type { RuntimeClass } from '../../api/values/node-class.ts';
import type { EvictionPolicy } from '../../api/values/eviction-policy.ts';
import { checkDNS1123Subdomain } from '../../api/values/names.ts';
import type { CgroupDriver } from '../../engine/container-manager/cgroup-names.ts';
import {
  type NodeAllocatableEnforcement,
  nodeAllocatableEnforcements,
} from '../../engine/container-manager/node-allocatable.ts';
import { type ContainerGCPolicy, defaultContainerGCPolicy } from '../../engine/gc/container-gc.ts';
import { SecretValues } from '../../engine/redaction/secret-values.ts';
import { UserError, toError } from '../../errors.ts';
import { flagsLayer } from './add-configuration-flags.ts';
import { type CredentialProviderFlags, refuseHalfOfCredentialProviders } from './credential-provider-flags.ts';
import { warnOfFlags } from './flags-without-effect.ts';
import { type ManifestURLFlags, type ManifestURLOptions, manifestURLOptions } from './manifest-url-options.ts';
import { parseNodeLabels } from './node-labels-flag.ts';
import {
  type ConfigurationFiles,
  type NodeConfiguration,
  newPathGuard,
  readConfiguration,
  BrokenConfiguration,
} from './read-configuration.ts';
import { type StatusURLFlags, type StatusURLOptions, statusURLOptions } from './status-url-options.ts';
import { refuseURLs } from './url-for-path.ts';
import { canonicalIP, isIPv6Address } from '../../engine/network/ip-address.ts';

const isUnspecified = (ip: string): boolean => ip === '0.0.0.0' || ip === '::';

const textOf = ({ message, hint }: UserError): string => (hint === undefined ? message : `${message} (${hint})`);

/**
 * The options of a node: its configuration, and the options that only flags set. kubelet:
 * cmd/kubelet/app/options/options.go KubeletServer
 */
export interface NodeOptions
  extends
    Omit<
      KubeletConfiguration,
      'cgroupDriver' | 'enforceNodeAllocatable' | 'evictionPolicy' | 'featureGates' | 'runtimeClasses'
    >,
    ManifestURLOptions,
    StatusURLOptions,
    CredentialProviderFlags {
  /** As given, with its defaults. */
  configuration: KubeletConfiguration;
  /** As given. */
  flags: NodeFlags;
  /** Used if the runtime does not report its own. */
  cgroupDriver: CgroupDriver;
  enforceNodeAllocatable: NodeAllocatableEnforcement[];
  evictionPolicy: EvictionPolicy;
  /** Classes of pods in addition to those of manifests. */
  runtimeClasses: RuntimeClass[];
  /** The values of all gates. */
  featureGates: FeatureGates;
  manifestPaths: string[];
  rootDir: string;
  /** The root-dir of the managed containerd. Differs from `rootDir` for runs that share one. */
  runtimeRootDir: string;
  nodeName: string;
  /** Addresses by `--node-ip`. Empty if they are detected. */
  nodeIPs: string[];
  nodeLabels: Record<string, string>;
  /** Exited containers to keep. */
  containerGC: ContainerGCPolicy;
  /** Folder of the generated serving certificate. */
  certDir: string;
  /** Bearer tokens of the HTTPS API; empty for none. */
  tokenAuthFile: string;
  /** Rules for clients of the HTTPS API; empty for none. */
  authorizationPolicyFile: string;
  /** True if the user set failSwapOn, so that a node with swap refuses to start. */
  refusesSwap: boolean;
  /** False to replace every pod whose manifest changed, as the kubelet does. */
  inPlace: boolean;
  /** True to refuse every image pull. */
  offline: boolean;
  /** True to keep our pods that no manifest declares, instead of stopping them. */
  leaveOrphans: boolean;
  /** Subnets for the addresses of Services. Empty to choose them. */
  serviceCIDR: string;
  /** MTU of our bridge network in bytes. Undefined for the uplink's. */
  networkPluginMTU: number | undefined;
  /** True to stop our pods that no manifest declares, even if none remains. */
  prune: boolean;
  /** True to fail if the store of the managed containerd is damaged, instead of replacing it. */
  keepDamagedStore: boolean;
  /** Values that no output may contain. Starts with the credentials of URLs; the engine and the sources add theirs. */
  secrets: SecretValues;
  /** Problems of the configuration to log. */
  warnings: ManifestProblem[];
  /** Fields that were set but have no effect here. */
  unusedFields: { field: string; reason: string }[];
}

/** Flags as parsed by commander, except those for fields of the configuration. */
export interface NodeFlags extends ConfigurationFiles, ManifestURLFlags, StatusURLFlags {
  podManifestPath?: string[];
  rootDir: string;
  containerRuntimeEndpoint?: string;
  hostnameOverride?: string;
  nodeIp?: string[];
  nodeLabels?: string[];
  networkPluginMtu?: number;
  serviceCidr?: string;
  maximumDeadContainersPerContainer?: number;
  maximumDeadContainers?: number;
  /** Milliseconds. */
  minimumContainerTtlDuration?: number;
  imageCredentialProviderConfig?: string;
  imageCredentialProviderBinDir?: string;
  certDir?: string;
  tokenAuthFile?: string;
  authorizationPolicyFile?: string;
  inPlace?: boolean;
  offline?: boolean;
  prune?: boolean;
  keepDamagedStore?: boolean;
}

/** Reads the configuration files and applies the flags over them. Rejects with a `UserError` for mistakes. */
export async function nodeOptions(
  flags: NodeFlags,
  manifests: readonly string[],
  guard = newPathGuard(),
): Promise<NodeOptions> {
  const layer = flagsLayer(flags);
  const reading = readConfiguration(flags, layer, guard);
  const { imageCredentialProviderConfig = '', imageCredentialProviderBinDir = '' } = flags;
  const credentialProviders = { imageCredentialProviderConfig, imageCredentialProviderBinDir };
  // Without a configuration, only the values of the flags.
  const urlOptions = async (): Promise<ManifestURLOptions> =>
    manifestURLOptions({ ...(await reading.then(manifestURLFlags, () => ({}))), ...flags });
  const statusOptions = (): StatusURLOptions => statusURLOptions(flags);
  const nodeName = (): string => nodeNameOf(given(flags.hostnameOverride) ?? hostname());
  const nodeLabels = (): Record<string, string> => parseNodeLabels(flags.nodeLabels?.filter(isGiven));
  const ips = (): ReturnType<typeof nodeIPsOf> => nodeIPsOf(flags.nodeIp?.filter(isGiven) ?? []);
  await checkAll([
    () => reading,
    urlOptions,
    statusOptions,
    nodeName,
    nodeLabels,
    ips,
    () => {
      refuseWebhooks(layer.given);
    },
    () => {
      refuseURLs([...manifests, ...(flags.podManifestPath ?? [])]);
    },
    () => {
      refuseHalfOfCredentialProviders(credentialProviders);
    },
  ]);
  const { configuration, isGiven: isFieldGiven, featureGates, warnings } = await reading;
  const { nodeIPs, warnings: ipWarnings } = ips();
  const ofURLs = await urlOptions();
  const ofStatusURLs = statusOptions();
  const { staticPodPath, containerRuntimeEndpoint } = configuration;
  const paths = (flags.podManifestPath ?? [staticPodPath]).filter(isGiven);
  return {
    ...configuration,
    configuration,
    flags,
    ...ofURLs,
    ...ofStatusURLs,
    cgroupDriver: configuration.cgroupDriver === 'systemd' ? 'systemd' : 'cgroupfs',
    enforceNodeAllocatable: nodeAllocatableEnforcements.filter((word) =>
      configuration.enforceNodeAllocatable.includes(word),
    ),
    evictionPolicy: configuration.evictionPolicy === 'kubelet' ? 'kubelet' : 'byPriority',
    runtimeClasses: configuredRuntimeClasses(configuration),
    featureGates,
    containerRuntimeEndpoint: given(flags.containerRuntimeEndpoint) ?? containerRuntimeEndpoint,
    manifestPaths: [...manifests, ...paths].map((path) => resolve(path)),
    rootDir: resolve(flags.rootDir),
    runtimeRootDir: resolve(flags.rootDir),
    nodeName: nodeName(),
    nodeIPs,
    nodeLabels: nodeLabels(),
    networkPluginMTU: flags.networkPluginMtu === 0 ? undefined : flags.networkPluginMtu,
    serviceCIDR: flags.serviceCidr ?? '',
    containerGC: {
      minAgeMs: flags.minimumContainerTtlDuration ?? defaultContainerGCPolicy.minAgeMs,
      maxPerPodContainer: flags.maximumDeadContainersPerContainer ?? defaultContainerGCPolicy.maxPerPodContainer,
      maxContainers: flags.maximumDeadContainers ?? defaultContainerGCPolicy.maxContainers,
    },
    ...credentialProviders,
    certDir: resolve(given(flags.certDir) ?? join(flags.rootDir, 'pki')),
    tokenAuthFile: flags.tokenAuthFile ?? '',
    authorizationPolicyFile: flags.authorizationPolicyFile ?? '',
    refusesSwap: configuration.failSwapOn && isFieldGiven('failSwapOn'),
    inPlace: flags.inPlace ?? true,
    offline: flags.offline ?? false,
    leaveOrphans: false,
    prune: flags.prune ?? false,
    keepDamagedStore: flags.keepDamagedStore ?? false,
    secrets: hidden(ofURLs, ofStatusURLs),
    warnings: [...warnOfFlags(flags), ...ipWarnings, ...warnings],
    unusedFields: fieldsWithoutEffect(configuration),
  };
}

/**
 * A flag that requests a webhook is an error. In a configuration file it is the default, and clients are served without
 * it. kubelet: cmd/kubelet/app/auth.go BuildAuthn, BuildAuthz
 */
function refuseWebhooks({ authentication, authorization }: GivenConfiguration): void {
  const kind = authentication?.webhook?.enabled
    ? 'authentication'
    : authorization?.mode === 'Webhook'
      ? 'authorization'
      : undefined;
  if (kind === undefined) return;
  throw new UserError(`no client provided, cannot use webhook ${kind}`, {
    hint: 'There is no API server to ask. Use --client-ca-file or --token-auth-file, and --authorization-policy-file.',
  });
}

/** The passwords and queries of manifest URLs, and the headers sent to them. */
export function secretsOfURLs({
  manifestURLs,
  manifestURLHeaders,
}: Pick<ManifestURLOptions, 'manifestURLs' | 'manifestURLHeaders'>): string[] {
  // Other URLs have no secrets.
  return secretsIn(
    manifestURLs.filter((url) => /^https?:/.test(url)),
    manifestURLHeaders,
  );
}

function secretsIn(texts: readonly string[], headers: readonly (readonly [name: string, value: string])[]): string[] {
  const inURLs = texts
    .map((text) => new URL(text))
    .flatMap(({ password, search, searchParams }) => [password, search.slice(1), ...searchParams.values()]);
  const inHeaders = headers.flatMap(([, value]) => [value, value.replace(/^\S+ /, '')]);
  return [...inURLs, ...inURLs.map(unescape), ...inHeaders];
}

function hidden(manifests: ManifestURLOptions, status: StatusURLOptions): SecretValues {
  const secrets = new SecretValues();
  secrets.set('manifest URLs', secretsOfURLs(manifests));
  secrets.set('status URLs', secretsIn(status.statusURLs, status.statusURLHeaders));
  return secrets;
}

/** Treats a flag with an empty value as absent. */
export const given = (value: string | undefined): string | undefined => (isGiven(value) ? value : undefined);
const isGiven = (value: string | undefined): boolean => value !== '';

/** The URLs in the configuration, in the form of flags. */
function manifestURLFlags({ configuration }: NodeConfiguration): ManifestURLFlags {
  const { staticPodURL, staticPodURLHeader } = configuration;
  const headers = Object.entries(staticPodURLHeader);
  return {
    manifestUrl: staticPodURL === '' ? [] : [staticPodURL],
    manifestUrlHeader: headers.flatMap(([name, values]) => values.map((value) => `${name}:${value}`)),
  };
}

/**
 * The name of a node, from its host name or a flag. Throws a UserError if it is not valid. kubelet:
 * component-helpers/node/util/hostname.go GetHostname
 */
export function nodeNameOf(text: string): string {
  const name = text.trim().toLowerCase();
  const message = name === '' ? undefined : checkDNS1123Subdomain(name);
  if (name !== '' && message === undefined) return name;
  const problem =
    name === '' ? 'the node has no name' : `the name of the node, ${JSON.stringify(name)}, ${message ?? ''}`;
  throw new UserError(problem, { hint: 'Set the host name, or use --hostname-override NAME.' });
}

/**
 * Runs independent checks. Rejects with a `UserError` that lists all their mistakes. It is a `BrokenConfiguration` if
 * one of them is.
 */
async function checkAll(checks: readonly (() => unknown)[]): Promise<void> {
  const outcomes = await Promise.allSettled(checks.map((check) => Promise.resolve().then(check)));
  const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
  const mistakes = reasons.map((reason) => {
    if (reason instanceof UserError) return reason;
    throw toError(reason);
  });
  const [first, ...others] = mistakes;
  if (first === undefined) return;
  if (others.length === 0) throw first;
  const message = mistakes.map(textOf).join('\n');
  throw mistakes.some((mistake) => mistake instanceof BrokenConfiguration)
    ? new BrokenConfiguration(message)
    : new UserError(message);
}

/**
 * The addresses of the node by `--node-ip`; none if they are detected. Ignores an invalid address with a warning.
 * Throws a `UserError` for more than one address of a family. kubelet: component-helpers node/util/ips.go
 * ParseNodeIPArgument
 */
function nodeIPsOf(words: readonly string[]): { nodeIPs: string[]; warnings: ManifestProblem[] } {
  const all = words.map((word) => ({ word, ip: canonicalIP(word.trim()) }));
  const given = all.flatMap(({ ip = [] }) => ip);
  const [first = '', second = ''] = given;
  const refusal = (reason: string): UserError =>
    new UserError(`bad --node-ip "${words.join(',')}": ${reason}`, {
      hint: 'Give one address, or one of IPv4 and one of IPv6.',
    });
  if (given.length > 2 || (given.length === 2 && isIPv6Address(first) === isIPv6Address(second))) {
    throw refusal('must contain either a single IP or a dual-stack pair of IPs');
  }
  if (given.length === 2 && given.some(isUnspecified)) {
    throw refusal("dual-stack node IPs cannot include '0.0.0.0' or '::'");
  }
  const warnings = all
    .filter(({ ip }) => ip === undefined)
    .map(({ word }) => ({
      origin: '--node-ip',
      message: `"${word}" is not an IP address and was ignored`,
      severity: 'warning' as const,
    }));
  // An address that stands for all addresses of a family is replaced by the detected one.
  return { nodeIPs: given.filter((ip) => !isUnspecified(ip)), warnings };
}
