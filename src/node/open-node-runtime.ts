import { once } from 'node:events';
import { systemClock } from '../clock.ts';
import { hasImageArchives } from '../containerd/import-images-folder.ts';
import { managedPaths } from '../containerd/managed-paths.ts';
import { parsePodCIDR, parseServiceCIDR } from '../containerd/pod-cidr.ts';
import { findPacketFilters } from '../containerd/packet-filters.ts';
import { ServiceNetwork } from '../containerd/service-network.ts';
import type { RuntimeEndpoint, EndpointName } from '../containerd/runtime-endpoint.ts';
import { orphanShimsOf } from '../containerd/orphan-shims-of.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import type { KubeletDeps } from '../engine/build/kubelet-deps.ts';
import { describeFailure } from './failure-text.ts';
import type { Logger } from '../logger.ts';
import { findRuntimeEndpoint, type RuntimeWait } from './find-runtime.ts';
import { importImages, type OnStarting } from './import-images.ts';
import { recordNodePaths } from './last-node-paths.ts';
import { recordRuntime } from './last-runtime.ts';
import { recordStateFormat, stateFormat } from './upgrade/state-format.ts';
import type { AgentMetrics } from '../server/metrics/agent-metrics.ts';
import type { NodeOptions } from './options/node-options.ts';
import { moveToOwnScope } from './own-scope.ts';
import { reportSetAside } from './report-set-aside.ts';
import { openOwnRuntime, type OwnRuntimeConnection } from './runtime-connection.ts';

/** A runtime that answers, and what the agent does for it. */
export interface NodeRuntime {
  endpoint: RuntimeEndpoint;
  connection: OwnRuntimeConnection;
  release: () => void;
  /** PID of a runtime that the agent started. */
  pid: () => number | undefined;
  /** Wraps a runtime to reload a missing pause image, and to lead host ports to pods. */
  wrap: (runtime: RuntimeService) => RuntimeService;
  /** Checks the rules of our bridge. Returns true if it restored any. */
  checkNetwork?: () => Promise<boolean>;
  services: ServiceNetwork;
  /** Names of the images from archives. */
  keptImages: readonly string[];
}

export interface RuntimeRequest {
  options: NodeOptions;
  logger: Logger;
  /** Stops the start. */
  signal: AbortSignal;
  /** Counts the calls to the runtime. */
  metrics: Pick<AgentMetrics, 'counts'>;
  /** Called before loading images, which may take long. */
  onStarting?: OnStarting;
}

/**
 * Finds or starts the runtime, and records it for commands. With `onWaiting`, waits for a runtime named by the user.
 * `onStoreReplaced` receives a sentence if a damaged store was replaced.
 */
export async function openNodeRuntime(
  request: RuntimeRequest,
  onWaiting: RuntimeWait['onWaiting'] | undefined,
  onStoreReplaced: (sentence: string) => void,
): Promise<NodeRuntime> {
  const { options, logger, signal } = request;
  const endpoint = await findRuntimeEndpoint({
    rootDir: options.runtimeRootDir,
    flag: options.containerRuntimeEndpoint || undefined,
    flagName: endpointName(options),
    wait: onWaiting && { onWaiting, signal },
  });
  logger.info({ endpoint: endpoint.endpoint, because: endpoint.because }, 'Container runtime');
  const recording = recordStart(endpoint, request);
  const started = endpoint.managed
    ? await startManaged(request, onStoreReplaced)
    : await shareRuntime(endpoint.endpoint, request);
  const { rootDir } = options;
  const connection = await openOwnRuntime(
    endpoint.endpoint,
    { rootDir, makesPods: true, logger, signal },
    { ...options, onCall: request.metrics.counts.called },
  );
  await recording;
  return { endpoint, connection, ...started };
}

/** Records what commands need once the agent has stopped. Never rejects. */
async function recordStart(endpoint: RuntimeEndpoint, { options, logger }: RuntimeRequest): Promise<void> {
  const { rootDir } = options;
  await Promise.all([
    recordRuntime(rootDir, endpoint, logger).catch((error: unknown) => {
      logger.warn(
        { err: error },
        'Recording the runtime failed; once this agent has stopped, name the runtime in commands',
      );
    }),
    recordFormat(rootDir, logger),
    recordNodePaths(rootDir, options, logger).catch((error: unknown) => {
      logger.warn({ err: error }, 'Recording the flags failed; once this agent has stopped, pass them to down');
    }),
  ]);
}

/** Never rejects, because the agent runs on any state. */
async function recordFormat(rootDir: string, logger: Logger): Promise<void> {
  try {
    const format = await recordStateFormat(rootDir);
    if (format > stateFormat)
      logger.warn(
        { format, known: stateFormat },
        'A later release wrote the state; what this one does not know is lost',
      );
  } catch (error) {
    logger.warn({ err: error }, 'Recording the format of the state failed; an upgrade cannot check it');
  }
}

const endpointName = ({ containerRuntimeEndpoint, configuration }: NodeOptions): EndpointName =>
  containerRuntimeEndpoint === configuration.containerRuntimeEndpoint
    ? 'containerRuntimeEndpoint in the configuration'
    : '--container-runtime-endpoint';

type Started = Pick<NodeRuntime, 'release' | 'pid' | 'wrap' | 'checkNetwork' | 'keptImages' | 'services'>;

/** Milliseconds to wait, because the check reads all processes, and pods come first. */
const orphanShimsAfterMs = 5000;

/** A runtime that is not managed. Only logs an error for image archives that it cannot import. */
async function shareRuntime(endpoint: string, request: RuntimeRequest): Promise<Started> {
  const keptImages = await importIntoRuntime(endpoint, request);
  return {
    release: warnOfOrphanShims(endpoint, request.logger),
    pid: () => undefined,
    // The pause image and the network of another containerd are not ours.
    wrap: (runtime) => runtime,
    keptImages,
    services: openServiceNetwork(request, () => Promise.resolve(undefined)),
  };
}

async function importIntoRuntime(
  endpoint: string,
  { options, logger, signal, onStarting }: RuntimeRequest,
): Promise<readonly string[]> {
  const rootDir = options.runtimeRootDir;
  const importFolder: Parameters<typeof importImages>[0]['importFolder'] = async (ended, onProgress) => {
    const { importIntoShared } = await import('../containerd/import-into-shared.ts');
    return importIntoShared({ endpoint, rootDir, clock: systemClock, signal: ended, onProgress });
  };
  try {
    // The import is loaded on demand, because most shared runtimes pull their images.
    if (!(await hasImageArchives(managedPaths(rootDir).imagesFolder))) return [];
    return await importImages({ importFolder, clock: systemClock, logger, signal, onStarting });
  } catch (error) {
    signal.throwIfAborted();
    const { message, hint } = describeFailure(error);
    logger.error({ err: message, ...(hint !== undefined && { hint }) }, 'No image archive was imported');
    return [];
  }
}

/** Only warns, because another containerd's shims are not ours to stop. Returns a function that stops the check. */
function warnOfOrphanShims(endpoint: string, logger: Logger): () => void {
  const released = new AbortController();
  const { signal } = released;
  const orphanShims = orphanShimsOf(endpoint, { end: undefined, clock: systemClock, logger, signal });
  const cancel = systemClock.after(orphanShimsAfterMs, () => {
    void orphanShims.check();
  });
  return () => {
    cancel();
    released.abort();
  };
}

/** A containerd that has not answered after this many milliseconds is a slow step of the start. */
const slowStartMs = 3000;

async function startManaged(
  { options, logger, signal, onStarting }: RuntimeRequest,
  onStoreReplaced: (sentence: string) => void,
): Promise<Started> {
  const { ManagedContainerd } = await import('../containerd/managed-containerd.ts');
  const rootDir = options.runtimeRootDir;
  const managed = new ManagedContainerd({
    rootDir,
    clock: systemClock,
    logger,
    // Runs that share a containerd must not interrupt each other's pulls.
    restartsForChanges: rootDir === options.rootDir,
    moveToScope: (process) => moveToOwnScope(process, { rootDir, clock: systemClock, logger }),
    systemdCgroup: options.cgroupDriver === 'systemd',
    ...(!options.keepDamagedStore && { onSetAside: reportSetAside(logger, onStoreReplaced) }),
    network: { podCIDR: parsePodCIDR(options.podCIDR), mtu: options.networkPluginMTU },
  });
  const starting = managed.start(signal);
  let doing: string | undefined = 'its containerd does not answer yet';
  const cancelNotice = systemClock.after(slowStartMs, () => {
    // It is called again below, and then stops the start if it fails.
    onStarting?.(() => doing).catch(() => undefined);
  });
  const { pid, adopted, warnings } = await starting.finally(() => {
    doing = undefined;
    cancelNotice();
  });
  logger.info({ pid }, adopted ? 'Adopted the managed containerd' : 'Started the managed containerd');
  managed.network.warnOnce(warnings);
  const importFolder = managed.importImages.bind(managed);
  const importing = importImages({ importFolder, clock: systemClock, logger, signal, onStarting });
  const names = await importing.catch((error: unknown) => {
    managed.release();
    throw error;
  });
  return {
    release: () => {
      managed.release();
    },
    pid: () => managed.pid,
    wrap: (runtime) => managed.network.withHostPorts(managed.withPauseImage(runtime)),
    checkNetwork: () => managed.network.check(),
    keptImages: names,
    services: openServiceNetwork({ options, logger }, () => managed.network.bridge()),
  };
}

function openServiceNetwork(
  { options, logger }: Pick<RuntimeRequest, 'options' | 'logger'>,
  bridge: ConstructorParameters<typeof ServiceNetwork>[0]['bridge'],
): ServiceNetwork {
  return new ServiceNetwork({
    rootDir: options.rootDir,
    choice: parseServiceCIDR(options.serviceCIDR),
    bridge,
    filters: findPacketFilters,
    clock: systemClock,
    logger: logger.child({ component: 'services' }),
  });
}

/** Milliseconds between checks of the rules in the kernel. */
const networkCheckMs = 60_000;

/**
 * Checks the rules of pods and Services until the signal is aborted. On the network of others, begins once there are
 * some.
 */
export const keepNetwork =
  ({ checkNetwork, services }: Pick<NodeRuntime, 'checkNetwork' | 'services'>): KubeletDeps['keepNetwork'] =>
  async (onChecked, signal) => {
    if (checkNetwork === undefined) await Promise.race([services.used, once(signal, 'abort')]);
    for (;;) {
      await systemClock.sleep(networkCheckMs, { signal });
      const checks = await Promise.all([checkNetwork?.(), services.check()]);
      onChecked(checks.includes(true));
    }
  };
