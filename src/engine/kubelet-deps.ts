import type { Clock } from '../clock.ts';
import type { ImageService } from '../cri/image-service.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import type { Logger } from '../logger.ts';
import type { PodSource } from './config/pod-source.ts';
import type { CgroupManager } from './container-manager/cgroup-manager.ts';
import type { Faults } from '../flow/faults.ts';
import type { ImageFilesystem } from './images/image-gc.ts';
import type { DockerConfig } from './images/docker-config.ts';
import type { ForeignPods } from './kuberuntime/owned-runtime.ts';
import type { ReadTerminationMessage } from './kuberuntime/runtime-pods.ts';
import type { Logind } from './lifecycle/logind.ts';
import type { NodeConfig } from './node-config.ts';
import type { SecretValues } from './outgoing/secret-values.ts';
import type { RuntimeEventStream } from './pleg/runtime-event-stream.ts';
import type { CheckHealth } from './prober/run-probe.ts';

/** What the engine is built from. */
export interface KubeletDeps {
  /** With the pods of this root-dir alone. */
  runtime: RuntimeService;
  /** What others have in the same runtime. */
  foreignPods: ForeignPods;
  imageService: ImageService;
  /** Ways to be told what happens in the runtime, best first. */
  eventStreams: readonly RuntimeEventStream[];
  sources: readonly PodSource[];
  node: NodeConfig;
  cgroups: CgroupManager;
  /** Undefined: a shutdown of the machine is noticed by SIGTERM alone, or not at all. */
  logind: Logind | undefined;
  /** Where the runtime is and why it was chosen, for readers of the snapshot. */
  endpoint: { endpoint: string; because: string };
  /** Pods of an earlier life that no manifest declares stay as they are. */
  leaveOrphans: boolean;
  /** The registry credentials that the node has for a repository. It does not reject. */
  nodeCredentials: (repository: string) => Promise<DockerConfig[]>;
  /** What no text may tell that leaves the engine; it adds what it comes to know. */
  secrets: SecretValues;
  /** Images that stay although nothing uses them. */
  keptImages: readonly string[];
  /** Size of the file system that a path is on, and what is free of it. */
  readFilesystem: (path: string) => Promise<ImageFilesystem>;
  readTerminationMessage: ReadTerminationMessage;
  /** Asks a gRPC server for its health, for probes. */
  checkHealth: CheckHealth;
  clock: Clock;
  /** Takes what goes wrong in the agent itself. */
  faults: Faults;
  /** Uniform in [0, 1). */
  random: () => number;
  logger: Logger;
}
