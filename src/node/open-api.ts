import type { Server } from 'node:http';
import { join } from 'node:path';
import type { KubeletConfiguration } from '../api/kubelet-configuration/types.ts';
import type { Clock } from '../clock.ts';
import type { Faults } from '../flow/faults.ts';
import type { Logger } from '../logger.ts';
import type { ApiEngine, ApiRuntime } from '../server/api/api-engine.ts';
import { type AccessOptions, closedBecause } from '../server/api/api-access.ts';
import type { Mount } from '../server/api/route-table.ts';
import { type TLSLimits, tlsLimits } from '../server/api/tls-options.ts';
import type { AgentMetrics } from '../server/metrics/agent-metrics.ts';
import { flagValues } from './options/flag-values.ts';
import { referenceVersion } from './options/flags.ts';
import type { NodeOptions } from './options/node-options.ts';
import type { PrepareReload } from './reload.ts';

interface Deps {
  engine: ApiEngine;
  runtime: ApiRuntime;
  metrics: Pick<AgentMetrics, 'parts' | 'binaryParts' | 'http' | 'health'>;
  clock: Clock;
  faults: Pick<Faults, 'record'>;
  logger: Logger;
  /** Sets the level of the log, as a level of klog. */
  setVerbosity: (level: number) => void;
  /** Normally /var/log. */
  systemLogs?: string;
}

export interface OpenAPI {
  close(): void;
  /**
   * Rereads certificates, tokens and rules. Rejects with a `UserError` if one is unusable. The result applies them to
   * later connections and requests.
   */
  prepareReload: PrepareReload;
}

/**
 * Serves the HTTPS API and the read-only port as far as the options ask for them. Rejects with a `UserError` for a
 * mistake in the options or files, and for a port in use.
 */
export async function openAPI(options: NodeOptions, deps: Deps): Promise<OpenAPI> {
  const { logger } = deps;
  // A mistake in a name stops the start even if the API is disabled, as in the kubelet.
  const limits = tlsLimits(options);
  const access = accessOptions(options);
  const reason = closedBecause(access);
  if (reason !== undefined) logger.info({ because: reason }, 'The HTTPS API is off');
  const opened: { close(): void }[] = [];
  const closeAll = (): void => {
    for (const one of opened) one.close();
  };
  let prepareReload: PrepareReload = async () => Promise.resolve(() => undefined);
  try {
    if (reason === undefined) {
      const secure = await openSecure(options, { access, limits }, deps);
      opened.push(secure);
      prepareReload = secure.prepareReload;
    } else await refuseUnusableFiles(options, deps);
    if (options.readOnlyPort > 0) opened.push(await openReadOnly(options, deps));
  } catch (error) {
    closeAll();
    throw error;
  }
  return { close: closeAll, prepareReload };
}

/**
 * Unusable files stop the start even if the API is disabled, as in the kubelet. Without a server, reads only the client
 * CA.
 */
async function refuseUnusableFiles(options: NodeOptions, deps: Deps): Promise<void> {
  const { clientCAFile } = options.authentication.x509;
  if (clientCAFile !== '') {
    const { readClientCA } = await import('./client-ca.ts');
    await readClientCA(clientCAFile);
  }
  if (!options.enableServer || (options.tlsCertFile === '' && options.tlsPrivateKeyFile === '')) return;
  const { servingPair } = await import('../server/api/serving-certificate.ts');
  await servingPair(options, deps);
}

export function accessOptions(options: NodeOptions): AccessOptions {
  const { enableServer, authentication, authorization, tokenAuthFile, authorizationPolicyFile } = options;
  return {
    enableServer,
    clientCAFile: authentication.x509.clientCAFile,
    tokenAuthFile,
    authorizationPolicyFile,
    authorizationMode: authorization.mode,
    anonymousAuth: authentication.anonymous.enabled,
  };
}

/** Loaded on demand, because most nodes serve no API. */
async function openSecure(
  options: NodeOptions,
  { access, limits }: { access: AccessOptions; limits: TLSLimits },
  deps: Deps,
): Promise<OpenAPI> {
  const { clock, faults, logger } = deps;
  const [{ serveSecure }, { ServedCredentials }] = await Promise.all([
    import('../server/api/api-server.ts'),
    import('./served-credentials.ts'),
  ]);
  warnOfAccess(access, logger);
  const credentials = await ServedCredentials.read({ files: options, access, clock, logger });
  const { pair, clientCA } = credentials.certificates;
  const secure = await serveSecure({
    address: options.address,
    port: options.port,
    mounts: await mountsOf(options, deps, { readOnly: false }),
    faults,
    counts: deps.metrics.http,
    access: () => credentials.access,
    pair,
    ...(clientCA !== undefined && { clientCA }),
    limits,
  });
  logger.info({ address: options.address, port: options.port }, 'Serving the HTTPS API');
  const closed = new AbortController();
  // Stops with the server.
  credentials.watchCertificates(secure, closed.signal).catch(() => undefined);
  return {
    close: () => {
      closed.abort();
      secure.close();
    },
    prepareReload: () => credentials.prepareReload(secure),
  };
}

function warnOfAccess(access: AccessOptions, logger: Logger): void {
  const isMapped = access.authorizationMode === 'Webhook' && access.authorizationPolicyFile === '';
  if (isMapped) {
    const hint = 'Allow others with --authorization-policy-file.';
    const allowed = 'system:masters, kubeadm:cluster-admins, kube-apiserver-kubelet-client';
    logger.warn({ allowed, hint }, 'Refusing other clients of the HTTPS API, because there is no API server to ask');
  }
  if (access.anonymousAuth && access.authorizationPolicyFile === '') {
    const hint = 'Allow them with --authorization-policy-file and rules for the group system:unauthenticated.';
    logger.warn({ hint }, 'Refusing anonymous clients of the API');
  }
}

async function openReadOnly(options: NodeOptions, deps: Deps): Promise<{ close(): void }> {
  const { serveReadOnly } = await import('../server/api/api-server.ts');
  const { address, readOnlyPort: port } = options;
  const mounts = await mountsOf(options, deps, { readOnly: true });
  const server = await serveReadOnly({ address, port, mounts, faults: deps.faults, counts: deps.metrics.http });
  deps.logger.warn({ address, port }, 'The read-only API serves pods and statistics to everyone');
  return {
    close: () => {
      closeServer(server);
    },
  };
}

async function mountsOf(
  options: NodeOptions,
  { engine, runtime, metrics, clock, setVerbosity, systemLogs = '/var/log' }: Deps,
  which: { readOnly: boolean },
): Promise<Mount[]> {
  const { apiMounts } = await import('../server/api/api-mounts.ts');
  const handlers = {
    ...options,
    translatesWebSockets: options.featureGates.ExtendWebSocketsToKubelet,
    splitStreams: options.featureGates.PodLogsQuerySplitStreams,
    checkpoints: options.featureGates.ContainerCheckpoint,
    logQueries: options.featureGates.NodeLogQuery && options.enableSystemLogQuery,
  };
  const configuration = runningConfiguration(options);
  const pages = {
    version: referenceVersion,
    startedAt: performance.timeOrigin,
    flags: shownFlags(options),
    hasStatusz: options.featureGates.ComponentStatusz,
    hasFlagz: options.featureGates.ComponentFlagz,
  };
  return apiMounts(
    { engine, runtime, metrics, clock, options: handlers, configuration, pages, setVerbosity, systemLogs },
    which,
  );
}

/** The values of flags, without secrets such as the password in a URL. */
const shownFlags = ({ flags, secrets }: NodeOptions): Record<string, string> =>
  Object.fromEntries(Object.entries(flagValues(flags)).map(([name, value]) => [name, secrets.hide(value)]));

/** The configuration, completed with the agent's own choices. */
function runningConfiguration(options: NodeOptions): KubeletConfiguration {
  const { configuration, certDir, cgroupsPerQOS, containerRuntimeEndpoint, manifestPaths } = options;
  const [staticPodPath = ''] = manifestPaths;
  const hasOwnPair = configuration.tlsCertFile === '' && configuration.tlsPrivateKeyFile === '';
  return {
    ...configuration,
    containerRuntimeEndpoint,
    staticPodPath,
    ...(hasOwnPair && { tlsCertFile: join(certDir, 'kubelet.crt'), tlsPrivateKeyFile: join(certDir, 'kubelet.key') }),
    ...(cgroupsPerQOS && configuration.cgroupRoot === '' && { cgroupRoot: '/' }),
  };
}

function closeServer(server: Server): void {
  server.close();
  server.closeAllConnections();
}
