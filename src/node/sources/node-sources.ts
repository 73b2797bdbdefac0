import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getProxyForUrl } from 'proxy-from-env';
import { systemClock } from '../../clock.ts';
import { appliedFolder } from '../../engine/applied/applied-folder.ts';
import { FileSource } from '../../engine/config/file/file-source.ts';
import { PolledSource } from '../../engine/config/polled/polled-source.ts';
import type { ManifestOrigin } from '../../engine/config/polled/manifest-origin.ts';
import { GitOrigin } from '../../origins/git/git-origin.ts';
import { parseGitURL } from '../../origins/git/git-url.ts';
import { HTTPOrigin } from '../../origins/http/http-origin.ts';
import { LargeBodies } from '../../origins/http/large-bodies.ts';
import type { RemoteManifestOptions } from '../../engine/config/polled/remote-manifest.ts';
import { MetadataOrigin } from '../../origins/metadata/metadata-origin.ts';
import { metadataServices } from '../../origins/metadata/metadata-services.ts';
import { NoCloudOrigin } from '../../origins/metadata/nocloud-origin.ts';
import { readDockerConfigFiles } from '../../engine/images/docker-config-files.ts';
import { lookUpCredentials } from '../../engine/images/docker-keyring.ts';
import { OCIOrigin } from '../../origins/oci/oci-origin.ts';
import type { RegistryOptions } from '../../origins/oci/registry.ts';
import { parseOCIURL } from '../../origins/oci/oci-url.ts';
import { isThisMachine } from '../../origins/http/url.ts';
import { LastGoodManifests } from '../../engine/config/last-good/last-good-manifests.ts';
import type { PodSource } from '../../engine/config/pod-source.ts';
import type { Logger } from '../../logger.ts';
import type { NodeOptions } from '../options/node-options.ts';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The manifest sources that the flags name. With `hasApplied`, followed by the manifests that operators applied. */
export function nodeSources(options: NodeOptions, logger: Logger, { hasApplied = false } = {}): PodSource[] {
  const { nodeName, featureGates, manifestPaths, rootDir } = options;
  const lastGood = new LastGoodManifests({
    rootDir,
    clock: systemClock,
    logger: logger.child({ component: 'last-good-manifests' }),
  });
  const sources: PodSource[] = [];
  const files = {
    nodeName,
    featureGates,
    rootDir,
    fileCheckFrequencyMs: options.fileCheckFrequency,
    clock: systemClock,
    logger: logger.child({ component: 'file-source' }),
    lastGood,
  };
  if (manifestPaths.length > 0) sources.push(new FileSource({ ...files, paths: manifestPaths }));
  const largeBodies = new LargeBodies(join(rootDir, 'state', 'bodies'));
  for (const url of options.manifestURLs) {
    const httpCheckFrequencyMs = options.httpCheckFrequency;
    const manifest = remoteManifest(options, url, { largeBodies, workFolder: join(rootDir, 'state', 'git') });
    const phase = pollPhase(manifest.origin.where, options.nodeName);
    sources.push(new PolledSource({ ...manifest, httpCheckFrequencyMs, phase, lastGood, random: Math.random }));
  }
  if (hasApplied) sources.push(new FileSource({ ...files, source: 'applied', paths: [appliedFolder(rootDir)] }));
  // Drops last good manifests of sources that are no longer named. The file source drops its own.
  if (manifestPaths.length === 0) void lastGood.retain('file', []);
  const wheres = sources.filter(({ source }) => source === 'http').map(({ where }) => where);
  void lastGood.retain('http', wheres);
  return sources;
}

interface OriginResources {
  /** Shared by all URLs. */
  largeBodies?: LargeBodies;
  /** Folder for git repositories. Absent for a command, which may not be allowed to write there. */
  workFolder?: string;
}

/** The options for fetching a manifest URL. */
export function remoteManifest(
  options: NodeOptions,
  url: string,
  resources: OriginResources = {},
): RemoteManifestOptions {
  const { nodeName, featureGates, rootDir } = options;
  return { origin: manifestOrigin(options, url, resources), nodeName, featureGates, rootDir, clock: systemClock };
}

function manifestOrigin(
  options: NodeOptions,
  url: string,
  { largeBodies = new LargeBodies(tmpdir()), workFolder }: OriginResources,
): ManifestOrigin {
  const clock = systemClock;
  const parsed = new URL(url);
  const place = parseGitURL(parsed);
  if (place !== undefined) return new GitOrigin({ ...place, url: parsed, workFolder });
  const artifact = parseOCIURL(parsed);
  if (artifact !== undefined) {
    const { caFile } = options.manifestURLFiles;
    const cosignKeyFiles = options.manifestURLCosignKeyFiles;
    const credentials = registryCredentials(options);
    const { secrets } = options;
    return new OCIOrigin({
      ...artifact,
      url: parsed,
      caFile,
      cosignKeyFiles,
      credentials,
      proxyFor,
      largeBodies,
      secrets,
      clock,
    });
  }
  if (parsed.protocol === 'nocloud:') return new NoCloudOrigin({ url: parsed });
  if (metadataServices.has(parsed.protocol)) return new MetadataOrigin({ url: parsed, largeBodies, clock });
  return new HTTPOrigin({
    url: parsed,
    headers: options.manifestURLHeaders,
    files: options.manifestURLFiles,
    trust: options.manifestURLTrust,
    proxyFor,
    largeBodies,
    secrets: options.secrets,
    clock,
  });
}

/** The credentials that image pulls use, from the files of the node. The entry with the longest path counts. */
function registryCredentials({ rootDir }: NodeOptions): RegistryOptions['credentials'] {
  const paths = { rootDir, workingDir: process.cwd(), home: process.env['HOME'] ?? '' };
  return async (name, warnings) => {
    const onBroken = (path: string, because: string): void => {
      const hint = 'Log in again, or remove the file.';
      warnings.push({ origin: path, severity: 'warning', message: `is skipped: ${because}`, hint });
    };
    return lookUpCredentials([await readDockerConfigFiles(paths, onBroken)], name)[0];
  };
}

/**
 * The proxy for a URL, by `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. Returns undefined for this machine itself.
 * kubelet: the transport of config/http.go, Go's http.ProxyFromEnvironment
 */
export function proxyFor(url: string): string | undefined {
  const { hostname } = new URL(url);
  if (isThisMachine(hostname)) return undefined;
  const proxy = getProxyForUrl(url);
  return proxy === '' ? undefined : proxy;
}

/**
 * The fraction of the interval, in [0, 1), by which this machine delays its requests to an origin. It is the same at
 * every start, and spread evenly over the machines of a fleet. Machines from one image may share their id but not their
 * name.
 */
function pollPhase(where: string, nodeName: string): number {
  const hash = createHash('sha256').update([machineID(), nodeName, where].join('\n'));
  return hash.digest().readUInt32BE() / 2 ** 32;
}

/** Empty on a machine without an id. */
function machineID(): string {
  try {
    return readFileSync('/etc/machine-id', 'latin1').trim();
  } catch {
    // The node name is enough.
    return '';
  }
}
