import type { Pod } from '../../api/types.ts';
import type { WorkloadName } from '../../api/values/workload.ts';
import type { InPlacePolicy } from '../../api/values/in-place.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { KubeletEvent, ManifestProblem } from './events.ts';
import type { retryConditions } from './retry-conditions.ts';
import type { PodWorkerState } from './pod-worker-state.ts';
import type { ServiceProblemSnapshot } from './service-problem.ts';
import type { CronJobStatus, JobStatus } from './job-status.ts';
import type { FaultSnapshot } from '../../flow/faults.ts';

/**
 * The whole engine at one moment, as plain JSON. The screen, `ps` and the control socket read this and `subscribe()`.
 */
export interface EngineSnapshot {
  /** Version of the agent's program. Absent from an agent of an earlier release. */
  version?: string;
  nodeName: string;
  /** Milliseconds since the epoch, like every `…At` here. */
  startedAt: number;
  /** Which changes of pods are applied in place. Absent for the default. */
  inPlace?: InPlacePolicy;
  runtime: RuntimeSnapshot;
  /** Pressure conditions of the node, sorted. */
  pressures: NodePressureSnapshot[];
  pleg: PlegSnapshot;
  sources: SourceSnapshot[];
  /** Faults of the agent itself since it started. */
  faults: FaultSnapshot[];
  /** Absent if there are none. */
  statusURLs?: StatusURLSnapshot[];
  /** Absent if there are none. */
  workloads?: WorkloadSnapshot[];
  /** Absent if there are none. */
  serviceProblems?: ServiceProblemSnapshot[];
  /** Declared pods and those that are still terminating, sorted by namespace and name. */
  pods: PodSnapshot[];
}

/** The state of a workload. Counts are numbers of pods. */
export interface WorkloadStatus extends WorkloadName {
  /** How many pods it should have. */
  desired: number;
  /** How many it has, without those that are stopping. */
  current: number;
  ready: number;
  /** Ready for at least minReadySeconds. */
  available: number;
  /** Pods of the newest revision. */
  updated: number;
  /** As in `kubectl get -o json`, such as Available and Progressing of a Deployment. */
  conditions: readonly WorkloadCondition[];
  /** Of a Job. */
  job?: JobStatus;
  /** Of a CronJob. */
  cronJob?: CronJobStatus;
}

export interface WorkloadCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
}

export interface WorkloadSnapshot extends WorkloadStatus {
  /** Names of the pods that it wants now, in its namespace. */
  pods: string[];
  declaredBy?: Declarer;
}

export interface RuntimeSnapshot {
  endpoint: string;
  /** Why this endpoint was chosen, as a sentence for users. */
  chosenBecause: string;
  /** True for the managed containerd. */
  managed?: boolean;
  /** True if the user named the endpoint. */
  named?: boolean;
  name: string;
  version: string;
  /** Undefined if the runtime is healthy. */
  error?: string;
  /** Where the disk of the root-dir is mounted, if it is read-only. */
  readOnlyDisk?: string;
  /** Set while the runtime reports that the pod network is not ready. Only host-network pods start then. */
  networkError?: string;
  /** Commands that set up its network, while it has none. */
  networkCommands?: readonly string[];
}

/** Conditions in which the node does not accept some pods. kubelet: node.status.conditions */
export type NodePressure = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

export interface NodePressureSnapshot {
  type: NodePressure;
  since: number;
  /** The newest cause. The condition lasts longer than its cause. */
  message: string;
}

export interface PlegSnapshot {
  mode: 'generic' | 'evented';
  lastRelistAt?: number;
  lastRelistMs?: number;
}

export interface SourceSnapshot {
  source: SourceName;
  /** Folder, file, URL or `<stdin>`. */
  where: string;
  /** Version of its manifests: the id of a commit, or the digest of an artifact. Absent if it has no versions. */
  version?: string;
  /** False until the first read. */
  ready: boolean;
  pods: number;
  lastReadAt?: number;
  problems: ManifestProblem[];
}

/** A server that this node posts its status to. */
export interface StatusURLSnapshot {
  /** Contains no secret. */
  where: string;
  /** When it last accepted a status. Absent if it never did. */
  acceptedAt?: number;
  /** Why it has accepted none `since`, and what to do. Absent after a success. */
  failure?: { since: number; message: string; hint: string };
}

/** The manifest that now declares a pod. */
export interface Declarer {
  /** File or URL, or `<stdin>`. */
  where: string;
  /** Such as the id of a commit. Absent if its source has no versions. */
  version?: string;
}

export interface PodSnapshot {
  /** The pod with its current status. */
  pod: Pod;
  source: SourceName;
  /** Absent if no manifest declares the pod any more. */
  declaredBy?: Declarer;
  /** UID of the declared revision that waits for this one to stop. Absent if this is the declared one. */
  replacedBy?: string;
  /**
   * True if no manifest declares the pod, and it keeps running until somebody confirms that it should stop. Absent
   * otherwise.
   */
  isUndeclared?: boolean;
  /**
   * Containers of its status that still have the image or resources of an earlier manifest with the same UID. Absent if
   * empty.
   */
  outdatedContainers?: string[];
  /** Containers whose restart was requested and whose next instance does not exist yet. Absent if empty. */
  restarting?: string[];
  /** Why the newest manifest of this pod is not applied in place yet. Absent if it is. */
  waitingUpdate?: WaitingUpdate;
  worker: WorkerSnapshot;
  /** By container, when its back-off is over, in milliseconds since the epoch. Absent if none is in back-off. */
  backOffUntil?: Readonly<Record<string, number>>;
  /** Why the pod was not admitted, and when that is retried. */
  rejection?: Rejection;
  /** The pods that it waits for before it starts. Absent if it does not wait for any. */
  awaits?: AwaitedPods;
  /** Set while the runtime takes long to create the sandbox of the pod. */
  sandboxDelay?: SandboxDelay;
  /** Running pulls with known progress. Absent if empty. */
  pulls?: PullSnapshot[];
  /** The pod's newest events, oldest first, at most 64. */
  events: KubeletEvent[];
}

/** Why a change in place waits while the earlier revision of the pod keeps running. */
export interface WaitingUpdate {
  /** Such as `OutOfmemory`, `Pulling` or `ErrImagePull`. */
  reason: string;
  message: string;
  /** Images that the update waits for. Absent if it waits for something else. */
  images?: string[];
}

/** Pods that a pod waits for, as `name` or `namespace/name`. */
export interface AwaitedPods {
  /** Declared, but not Ready. */
  unready: readonly string[];
  undeclared: readonly string[];
}

/** A sandbox that the runtime is still creating. */
export interface SandboxDelay {
  /** The runtime has not answered within this time. */
  seconds: number;
  /** The network plugin (CNI) that it waits for. Absent if none runs. */
  plugin?: string;
}

/** Why a pod cannot run on this node now. kubelet: lifecycle/interfaces.go PodAdmitResult */
export interface Rejection {
  reason: string;
  message: string;
  /** When the pod is admitted again. The kubelet never retries without a restart. */
  retryOn: keyof typeof retryConditions;
}

/** Pull progress of an image in compressed bytes, summed over the layers begun so far. */
export interface PullProgress {
  receivedBytes: number;
  /** Absent if the registry did not report it. */
  totalBytes?: number;
}

/** A running pull and its progress. */
export interface PullSnapshot extends PullProgress {
  container: string;
  image: string;
}

export interface WorkerSnapshot {
  state: PodWorkerState;
  /** True while a sync is in flight. */
  working: boolean;
  /** True if an update waits for the sync in flight to finish. */
  pending: boolean;
  lastSyncAt?: number;
  lastSyncMs?: number;
  lastSyncError?: string;
  nextSyncAt?: number;
}

/** What metrics count. Much cheaper than a snapshot. */
export interface EngineActivity {
  nodeName: string;
  lastRelistAt?: number;
  /** Declared pods and those that are still terminating. */
  pods: PodActivity[];
  workloads: WorkloadStatus[];
  /** Worker states of pods that were found only in the runtime. */
  runtimeOnly: PodWorkerState[];
}

export interface PodActivity {
  /** The pod with its current status, without the addresses of the node. */
  pod: Pod;
  /** State of its worker. Absent if it has none. */
  state?: PodWorkerState;
  isDeclared: boolean;
}

/** Read access to a running engine. */
export interface EngineView {
  /** `brief` leaves out `outdatedContainers`, which take half of the time. */
  snapshot(options?: { brief?: boolean }): EngineSnapshot;
  /** Calls `listener` for every later event, until the returned function is called. A listener must not throw. */
  subscribe(listener: (event: KubeletEvent) => void): () => void;
}

/** An engine whose state leaves the machine. */
export interface ReportedEngine extends EngineView {
  /** Returns the text, cut to 1,024 characters, without the values of the pod's variables. */
  withoutVariables(podUID: string, text: string): string;
}

/** Describes an agent in another process that does not answer. */
export interface Silence {
  /** Time of its last answer, or of its start. */
  since: number;
  message: string;
  /** True until its first answer. */
  isStarting?: boolean;
}

/** An engine in another process. While its agent does not answer, this returns the last snapshot. */
export interface RemoteEngineView extends EngineView {
  /** Returns undefined while the agent answers. */
  silence(): Silence | undefined;
  /**
   * Resolves with the usage of running pods, at most some seconds old. Empty if the agent does not answer. Never
   * rejects.
   */
  usage(): Promise<PodUsage[]>;
}

/** Usage of a pod. Unknown values are absent. */
export interface PodUsage {
  uid: string;
  /** Billionths of a core. */
  nanoCores?: number;
  /** The working set. */
  memoryBytes?: number;
}

/** Where objects are declared. */
export interface EngineDeclarations {
  /** Returns the file or URL that declares an object now, found by its `claimedKeys`. Undefined if none does. */
  declarerOf(key: string): string | undefined;
}

/** Lets a reader wait until the snapshot is up to date. */
export interface EngineSettling {
  /**
   * Resolves when the snapshot shows the manifests that were declared when this was called. Rejects with a
   * `RequestRefused` if the runtime has never listed its pods and does not answer, unless the caller `waits` for it.
   */
  settled(options?: { waits: boolean }): Promise<void>;
}
