import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import type { ImageService } from '../../cri/image-service.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { Logger } from '../../logger.ts';
import type { Plugins } from '../../plugins/types.ts';
import type { PodSource } from '../config/pod-source.ts';
import type { CgroupManager } from '../container-manager/cgroup-manager.ts';
import type { PodResources } from '../container-manager/resource-managers/pod-resources.ts';
import type { EngineOfManagers } from '../container-manager/resource-managers/resource-managers.ts';
import type { AsyncQueue } from '../../flow/async-queue.ts';
import type { Faults } from '../../flow/faults.ts';
import type { WallClockHistory } from '../../flow/wall-clock-history.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import type { FilesystemSize } from '../host/filesystem-size.ts';
import type { DockerConfig } from '../images/docker-config.ts';
import type { ForeignPods } from '../kuberuntime/owned-runtime.ts';
import type { ReadTerminationMessage } from '../kuberuntime/runtime-pods.ts';
import type { Logind } from '../lifecycle/logind.ts';
import type { NodeConfig } from '../config/node-config.ts';
import type { KernelLog } from '../oom/kernel-log.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { SecretValues } from '../redaction/secret-values.ts';
import type { RuntimeEventStream } from '../pleg/runtime-event-stream.ts';
import type { SyncLoopInput } from '../sync-loop/sync-loop.ts';
import type { Emit, EventBus } from '../view/event-bus.ts';
import type { Meter } from '../view/meter.ts';
import type { StatusURLSnapshot } from '../view/snapshot.ts';
import type { CheckHealth } from '../prober/run-probe.ts';
import type { ServiceNetwork } from '../services/services.ts';
import type { StatsHost } from '../stats/stats-host.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';
import type { StatsProvider } from '../stats/stats-provider.ts';

/** The engine's dependencies. */
export interface KubeletDeps {
  /** Limited to the pods of this root-dir. */
  runtime: RuntimeService;
  /** Pods in the same runtime that belong to others. */
  foreignPods: ForeignPods;
  imageService: ImageService;
  /** Event streams of the runtime, best first. */
  eventStreams: readonly RuntimeEventStream[];
  sources: readonly PodSource[];
  node: NodeConfig;
  /**
   * Calls back with the earlier addresses after each change of `node.nodeIPs`, until the signal is aborted. Undefined
   * if they do not change.
   */
  followNodeIPs?: (onChange: (before: readonly string[]) => void, signal: AbortSignal) => Promise<void>;
  /**
   * Maintains the network of pods until the signal is aborted. Calls back when its rules had been removed and were
   * restored. Undefined if it is not ours.
   */
  keepNetwork?: ((onChecked: (wasCut: boolean) => void, signal: AbortSignal) => Promise<void>) | undefined;
  /** Forwards connections to Services. Undefined if nothing can. */
  serviceNetwork?: ServiceNetwork | undefined;
  cgroups: CgroupManager;
  /** Creates the CPU manager and the memory manager. Undefined if nothing is allocated to pods. */
  podResources?: ((engine: EngineOfManagers) => PodResources) | undefined;
  /** Top folder of the cgroups. Undefined on cgroup v1. */
  unifiedCgroups: string | undefined;
  /** Opens the kernel's log at its oldest message. Throws if this machine does not let us read it. */
  openKernelLog: () => KernelLog;
  /** Reads usage from this machine. */
  statsHost: StatsHost;
  /** Undefined if only SIGTERM announces a shutdown of the machine, or nothing does. */
  logind: Logind | undefined;
  /** The runtime's endpoint and why it was chosen, for the snapshot. */
  endpoint: { endpoint: string; because: string; managed?: boolean; named?: boolean };
  /** If true, pods of an earlier agent keep running, unless a declared pod has the same name. */
  leaveOrphans: boolean;
  /** If true, pods that no manifest declares are stopped, even if that stops every pod. */
  prunes: boolean;
  /** The node's registry credentials for a repository. Never rejects. */
  nodeCredentials: (repository: string) => Promise<DockerConfig[]>;
  /** Secret values, redacted in every text that leaves the engine. The engine adds the values that it learns. */
  secrets: SecretValues;
  /** Images that are kept even while no pod uses them. */
  keptImages: readonly string[];
  /** Connects to plugins. Undefined: the node has none. */
  plugins?: Plugins | undefined;
  /** Creates the statistics of the node and its pods. */
  newStats: (sources: StatsSources) => StatsProvider;
  /** Returns the number of the device that holds the file system at a path. */
  deviceOf: (path: string) => Promise<bigint>;
  /** Returns the size and free space of the file system at a path. */
  readFilesystem: (path: string) => Promise<FilesystemSize>;
  /** Returns where the disk of the root-dir is mounted, if it is read-only. */
  findReadOnlyDisk: () => Promise<string | undefined>;
  readTerminationMessage: ReadTerminationMessage;
  /** Checks the health of a gRPC server, for probes. */
  checkHealth: CheckHealth;
  /** Receives values for the metrics. */
  meter?: Meter | undefined;
  clock: Clock;
  /** Counts faults of the agent itself. */
  faults: Faults;
  /** Returns the state of the status URLs, for the snapshot. */
  statusURLs?: (() => StatusURLSnapshot[]) | undefined;
  /** Returns a uniform number in [0, 1). */
  random: () => number;
  logger: Logger;
}

/** The parts of an engine that its statistics read. */
export interface StatsSources {
  deps: Pick<KubeletDeps, 'clock' | 'imageService' | 'logger' | 'meter' | 'node' | 'random' | 'runtime' | 'statsHost'>;
  /** Statuses of all pods in the runtime. */
  podStatuses: () => readonly RuntimePodStatus[];
  /** Returns undefined for a pod without a manifest. */
  podOf: (uid: string) => Pod | undefined;
  volumeManager: Pick<VolumeManager, 'measuredVolumes' | 'driverUsage'>;
  podDirs: Pick<PodDirs, 'podDir'>;
}

/** Dependencies of every component, with the queue of the sync loop and the outputs of the engine. */
export interface KubeletBase extends KubeletDeps {
  /** Aborted when the engine stops. */
  stopped: AbortSignal;
  redactor: Redactor;
  events: EventBus;
  emit: Emit;
  inputs: AsyncQueue<SyncLoopInput>;
  wallClock: WallClockHistory;
}
