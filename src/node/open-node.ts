import { stat } from 'node:fs/promises';
import { systemClock } from '../clock.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import { retryWhileUnavailable } from '../cri/retry-while-unavailable.ts';
import type { PodSource } from '../engine/config/pod-source.ts';
import type { CgroupManager } from '../engine/container-manager/cgroup-manager.ts';
import { type CgroupMounts, readCgroupMounts } from '../engine/container-manager/cgroup-mounts.ts';
import type { CgroupDriver } from '../engine/container-manager/cgroup-names.ts';
import { readMachine } from '../engine/container-manager/machine.ts';
import { nodeAllocatableReservation } from '../engine/container-manager/node-allocatable.ts';
import { meteredCgroups } from '../engine/container-manager/metered-cgroups.ts';
import { readCgroupDriver } from '../engine/container-manager/read-cgroup-driver.ts';
import { openCgroupManager } from '../engine/container-manager/open-cgroup-manager.ts';
import { openKernelLog } from '../engine/oom/kernel-log.ts';
import { readFilesystemSize } from '../engine/host/filesystem-size.ts';
import { readMountInfo } from '../engine/host/mount-info.ts';
import { findReadOnlyMount } from '../files/read-only-mount.ts';
import { systemBusSocket } from '../engine/host/system-bus-socket.ts';
import { Kubelet } from '../engine/kubelet.ts';
import type { KubeletDeps } from '../engine/build/kubelet-deps.ts';
import { readTerminationMessage } from '../engine/kuberuntime/read-termination-message.ts';
import type { Logind } from '../engine/lifecycle/logind.ts';
import type { NodeConfig } from '../engine/config/node-config.ts';
import { newStats } from '../engine/build/new-stats.ts';
import { readStatsHost } from '../engine/stats/stats-host.ts';
import { errorMessage } from '../errors.ts';
import type { Faults } from '../flow/faults.ts';
import type { Logger } from '../logger.ts';
import { openPlugins } from '../plugins/open-plugins.ts';
import { stopsItsPods } from './agent-end.ts';
import type { RuntimeWait } from './find-runtime.ts';
import { readHostNetwork } from './detect-node-ips.ts';
import { reasons } from '../engine/view/reasons.ts';
import { monitorNetwork } from './network-monitor.ts';
import { NodeAddresses } from './node-addresses.ts';
import { nodeConfig } from './node-config.ts';
import { checkNodeFitness } from './node-fitness.ts';
import { nodeCredentials } from './node-credentials.ts';
import type { NodeOptions } from './options/node-options.ts';
import { setOwnOOMScoreAdj } from './own-oom-score.ts';
import { findUserNamespaceIDs } from './user-namespace-ids.ts';
import { cgroupFiles } from '../engine/container-manager/cgroup-files.ts';
import { NodeProcesses, type ProcessSettings } from '../engine/container-manager/node-processes.ts';
import { keepNetwork, openNodeRuntime, type RuntimeRequest } from './open-node-runtime.ts';

/** An engine on a runtime that answers, ready to run. */
export interface Node {
  kubelet: Kubelet;
  runtime: RuntimeService;
  /** Disconnects from the runtime. Containers keep running. */
  close(): void;
}

export interface NodeRequest extends RuntimeRequest {
  sources: (node: { nodeName: string }) => PodSource[];
  /** Returns the state of the status URLs, for the snapshot. */
  statusURLs?: KubeletDeps['statusURLs'];
  faults: Faults;
}

/**
 * Finds or starts the runtime, inspects the machine, and builds the engine on both. With `onWaiting`, waits for a
 * runtime named by the user.
 */
export async function openNode(request: NodeRequest, onWaiting?: RuntimeWait['onWaiting']): Promise<Node> {
  const { options, sources, logger, faults, signal } = request;
  const credentials = await nodeCredentials(
    options,
    logger.child({ component: 'credentials' }),
    request.metrics.counts,
  );
  await setOwnOOMScoreAdj(options.oomScoreAdj, logger);
  const early: string[] = [];
  let warnOfStore = (sentence: string): void => void early.push(sentence);
  const runtime = await openNodeRuntime(request, onWaiting, (sentence) => {
    warnOfStore(sentence);
  });
  const { connection } = runtime;
  // Cgroup hierarchies do not change. With many containers the kernel takes several ms to list the mounts.
  const mountInfo = await readMountInfo();
  const mounts = await readCgroupMounts(mountInfo);
  const [{ cgroupDriver, cgroups }, machine, userNamespaceIDs, statsHost, logind] = await Promise.all([
    openCgroups(options, connection.runtime, { mounts, logger, signal }),
    readMachine(options.rootDir),
    findUserNamespaceIDs(options),
    readStatsHost(runtime.pid, mountInfo),
    stopsItsPods(options) ? openLogind() : undefined,
    sendPodCIDR(options, connection.runtime, logger, signal),
  ]);
  await checkNodeFitness(options, machine, logger, mountInfo);
  request.metrics.counts.set('kubelet_cgroup_version', machine.cgroupVersion);
  const addresses = new NodeAddresses({
    given: options.nodeIPs,
    readNetwork: readHostNetwork,
    monitor: monitorNetwork,
    clock: systemClock,
    logger: logger.child({ component: 'node-addresses' }),
  });
  const node = nodeConfig(options, machine, { cgroupDriver, nodeIPs: addresses.current, userNamespaceIDs });
  const podResources = await openManagers(options, node, logger);
  const kubelet = new Kubelet({
    runtime: runtime.wrap(connection.runtime),
    foreignPods: connection.foreignPods,
    imageService: connection.images,
    eventStreams: connection.eventStreams,
    sources: sources(node),
    node,
    followNodeIPs: (onChange, stopped) => addresses.follow(onChange, stopped),
    serviceNetwork: runtime.services,
    keepNetwork: keepNetwork(runtime),
    logind,
    cgroups: meteredCgroups(cgroups, { meter: request.metrics.counts, clock: systemClock }),
    podResources,
    unifiedCgroups: machine.cgroupVersion === 2 ? '/sys/fs/cgroup' : undefined,
    openKernelLog,
    statsHost,
    endpoint: runtime.endpoint,
    leaveOrphans: options.leaveOrphans,
    prunes: options.prune,
    nodeCredentials: credentials,
    secrets: options.secrets,
    keptImages: runtime.keptImages,
    plugins: openPlugins({ faults, clock: systemClock }),
    newStats,
    deviceOf: async (path) => (await stat(path, { bigint: true })).dev,
    readFilesystem: readFilesystemSize,
    findReadOnlyDisk: async () => findReadOnlyMount(options.rootDir, await readMountInfo()),
    readTerminationMessage,
    checkHealth: async (check) => {
      const { grpcHealthCheck } = await import('../cri/grpc-health-check.ts');
      return grpcHealthCheck(check);
    },
    meter: request.metrics.counts,
    clock: systemClock,
    faults,
    statusURLs: request.statusURLs,
    random: Math.random,
    logger,
  });
  warnOfStore = (message) => {
    kubelet.recordNodeWarning({ reason: reasons.storeReplaced, message });
  };
  early.forEach(warnOfStore);
  const releaseProcesses = maintainProcesses(options, { runtimePID: runtime.pid, mounts, faults, logger });
  return {
    kubelet,
    runtime: connection.runtime,
    close: () => {
      releaseProcesses();
      connection.close();
      runtime.release();
    },
  };
}

async function openCgroups(
  options: NodeOptions,
  runtime: RuntimeService,
  { mounts, logger, signal }: { mounts: CgroupMounts; logger: Logger; signal: AbortSignal },
): Promise<{ cgroupDriver: CgroupDriver; cgroups: CgroupManager }> {
  const cgroupDriver = await retryWhileUnavailable(() => readCgroupDriver(runtime, options.cgroupDriver), {
    clock: systemClock,
    signal,
  });
  return { cgroupDriver, cgroups: await openCgroupManager(cgroupDriver, { clock: systemClock, logger, mounts }) };
}

/** Loaded on demand, because on most nodes no pod has exclusive CPUs. */
async function openManagers(
  options: NodeOptions,
  { nodeAllocatable }: NodeConfig,
  logger: Logger,
): Promise<KubeletDeps['podResources']> {
  const { cpuManagerPolicy, cpuManagerPolicyOptions, memoryManagerPolicy, topologyManagerPolicy } = options;
  const isUsed =
    cpuManagerPolicy !== 'none' ||
    Object.keys(cpuManagerPolicyOptions).length > 0 ||
    memoryManagerPolicy !== 'None' ||
    topologyManagerPolicy !== 'none';
  if (!isUsed) return undefined;
  const { openPodResources } = await import('./open-pod-resources.ts');
  return openPodResources(options, {
    nodeReservation: nodeAllocatableReservation(nodeAllocatable.reservations),
    clock: systemClock,
    logger: logger.child({ component: 'resource-managers' }),
  });
}

/** Loaded on demand, because most nodes do not stop their pods at a shutdown. */
async function openLogind(): Promise<Logind> {
  const { DBusLogind } = await import('../engine/lifecycle/dbus-logind.ts');
  return new DBusLogind({
    socketPath: systemBusSocket(process.env),
    configFolder: '/etc/systemd/logind.conf.d',
    inhibitProgram: 'systemd-inhibit',
  });
}

/** kubelet: kubelet_network.go updatePodCIDR */
async function sendPodCIDR(
  { podCIDR }: NodeOptions,
  runtime: RuntimeService,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  if (podCIDR === '') return;
  const request = { runtimeConfig: { networkConfig: { podCidr: podCIDR } } };
  try {
    await retryWhileUnavailable(() => runtime.updateRuntimeConfig(request), { clock: systemClock, signal });
  } catch (error) {
    logger.error({ podCIDR, err: errorMessage(error) }, 'The runtime rejected the pod CIDR');
  }
}

interface Deps {
  runtimePID: () => number | undefined;
  mounts: CgroupMounts;
  faults: Faults;
  logger: Logger;
}

/** Maintains the cgroups and oom_score_adj of the agent and its runtime until the returned function is called. */
function maintainProcesses(settings: ProcessSettings, { runtimePID, mounts, faults, logger }: Deps): () => void {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    const processes = new NodeProcesses({
      settings,
      runtimePID,
      mounts,
      files: cgroupFiles,
      procFolder: '/proc',
      ownPID: process.pid,
      clock: systemClock,
      logger: logger.child({ component: 'container-manager' }),
    });
    await processes.run(stopping.signal);
  };
  void faults.keepRunning('node processes', run, stopping.signal);
  return () => {
    stopping.abort();
  };
}
