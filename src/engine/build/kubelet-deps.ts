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
import type { OutgoingText } from '../redaction/outgoing-text.ts';
import type { SecretValues } from '../redaction/secret-values.ts';
import type { RuntimeEventStream } from '../pleg/runtime-event-stream.ts';
import type { SyncLoopInput } from '../sync-loop/sync-loop.ts';
import type { Emit, EventBus } from '../view/event-bus.ts';
import type { Meter } from '../view/meter.ts';
import type { CheckHealth } from '../prober/run-probe.ts';
import type { StatsHost } from '../stats/stats-host.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';
import type { StatsProvider } from '../stats/stats-provider.ts';

/** The engine's dependencies. */
export interface KubeletDeps {
  /** Limited to the pods of this root-dir. */
  runtime: RuntimeService;
  /** Pods of other owners in the same runtime. */
  foreignPods: ForeignPods;
  imageService: ImageService;
  /** Event streams of the runtime, best first. */
  eventStreams: readonly RuntimeEventStream[];
  sources: readonly PodSource[];
  node: NodeConfig;
  cgroups: CgroupManager;
  /** Makes the managers of CPUs and memory nodes. Undefined if nothing is allocated to pods. */
  podResources?: ((engine: EngineOfManagers) => PodResources) | undefined;
  /** Top folder of the cgroups. Undefined on cgroup v1. */
  unifiedCgroups: string | undefined;
  /** Opens the kernel's log at its oldest message. Throws if this machine does not show it. */
  openKernelLog: () => KernelLog;
  /** Where usage is measured. */
  statsHost: StatsHost;
  /** Undefined if shutdowns of the machine are only noticed by SIGTERM, or not at all. */
  logind: Logind | undefined;
  /** The runtime's endpoint and why it was chosen, for the snapshot. */
  endpoint: { endpoint: string; because: string; managed?: boolean; named?: boolean };
  /** True: pods of an earlier agent are left alone, except those of the same name as a declared one. */
  leaveOrphans: boolean;
  /** True: pods that no manifest declares are stopped, even if these are all pods. */
  prunes: boolean;
  /** The node's registry credentials for a repository. Never rejects. */
  nodeCredentials: (repository: string) => Promise<DockerConfig[]>;
  /** Secret values, hidden in every text that leaves the engine. The engine adds the values that it learns. */
  secrets: SecretValues;
  /** Images that stay while unused. */
  keptImages: readonly string[];
  /** Connects to plugins. Undefined: the node has none. */
  plugins?: Plugins | undefined;
  /** Makes the statistics of the node and its pods. */
  newStats: (sources: StatsSources) => StatsProvider;
  /** Number of the device with the file system at a path. */
  deviceOf: (path: string) => Promise<bigint>;
  /** Size and free space of the file system at a path. */
  readFilesystem: (path: string) => Promise<FilesystemSize>;
  readTerminationMessage: ReadTerminationMessage;
  /** Checks the health of a gRPC server, for probes. */
  checkHealth: CheckHealth;
  /** Receives figures for the metrics. */
  meter?: Meter | undefined;
  clock: Clock;
  /** Counts faults of the agent itself. */
  faults: Faults;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
}

/** The parts of an engine that its statistics use. */
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
  /** Aborted when the engine ends. */
  stopped: AbortSignal;
  outgoing: OutgoingText;
  events: EventBus;
  emit: Emit;
  inputs: AsyncQueue<SyncLoopInput>;
  wallClock: WallClockHistory;
}
