import type { WorkloadName } from '../../api/values/workload.ts';
import type { PodRef } from '../../api/values/pod-names.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { PodLifecycleEventType } from '../container/pod-lifecycle-event.ts';
import type { PodWorkerState } from './pod-worker-state.ts';
import type { ServiceProblem } from './service-problem.ts';

export type { ManifestProblem } from '../../api/text/manifest-problem.ts';

/** Every event of the engine, in order of occurrence. Grouped by emitter. */
export type KubeletEvent = { /** Milliseconds since the epoch. */ at: number } & (
  | SourceEvent
  | PodConfigEvent
  | PlegEvent
  | WorkerEvent
  | StatusEvent
  | WorkloadEvent
  | RecordedEvent
  | PullEvent
  | RuntimeEvent
);

/** config: a source was read. */
interface SourceEvent {
  type: 'SourceRead';
  source: SourceName;
  where: string;
  pods: number;
  problems: ManifestProblem[];
}

/** pod-config: the sync loop has a pod to add, update or remove. */
type PodConfigEvent =
  /** A pod that is new to the engine. */
  | { type: 'PodAdded'; pod: PodRef; source: SourceName }
  /** A known pod (same UID) whose manifest changed. */
  | { type: 'PodUpdated'; pod: PodRef; source: SourceName }
  /** A pod that is no longer declared; its worker terminates it. */
  | { type: 'PodRemoved'; pod: PodRef; source: SourceName };

/** pleg: a change in the runtime, found by a relist or an event. */
interface PlegEvent {
  /** Kubelet's PodLifecycleEventType. */
  type: PodLifecycleEventType;
  pod: PodRef;
  /** Container or sandbox id, without the runtime prefix. */
  id: string;
  /** Absent for a sandbox. */
  containerName?: string;
  exitCode?: number;
  /** How the container exited. Absent if the runtime has already removed it. */
  end?: ContainerEnd;
}

/** How an instance of a container exited, as the runtime reports it. */
export interface ContainerEnd {
  restartCount: number;
  exitCode: number;
  /** Such as `OOMKilled`; may be empty. */
  reason: string;
  /** Its termination message, or the runtime's message. May be empty. */
  message: string;
  /** Milliseconds since the epoch. 0 if it never started. */
  startedAt: number;
  finishedAt: number;
}

/** pod-workers: the life of a pod's worker. */
type WorkerEvent =
  /** The worker changed its state, or was removed (`removed`). */
  | { type: 'WorkerStateChanged'; pod: PodRef; state: PodWorkerState | 'removed' }
  /** A sync began. */
  | { type: 'SyncStarted'; pod: PodRef; state: PodWorkerState }
  /** A sync finished. `nextSyncAt` is when the pod is due again, in milliseconds since the epoch. */
  | { type: 'SyncFinished'; pod: PodRef; durationMs: number; error?: string; nextSyncAt: number };

/** status: the pod's API status changed (the snapshot has it). */
interface StatusEvent {
  type: 'PodStatusChanged';
  pod: PodRef;
  phase: string;
  ready: boolean;
}

/** workloads: the counts or conditions of a workload changed (the snapshot has them). */
interface WorkloadEvent extends WorkloadName {
  type: 'WorkloadChanged';
  desired: number;
  updated: number;
  available: number;
}

/** An object with events that is no pod. */
export interface ObjectRef {
  kind: WorkloadName['kind'] | ServiceProblem['kind'];
  namespace: string;
  name: string;
}

/** Kubernetes events, as `kubectl describe` lists them. */
interface RecordedEvent {
  type: 'Recorded';
  eventType: 'Normal' | 'Warning';
  /** One of reasons.ts. */
  reason: string;
  message: string;
  /** A hint for the user, in the log. */
  hint?: string;
  /** Absent for an event of the node or of another object. */
  pod?: PodRef;
  /** Set for an event of a workload or a Service. */
  object?: ObjectRef;
  /** Name of the Job that a CronJob runs, if the event is that Job's. */
  job?: string;
  containerName?: string;
  cause?: EventCause;
}

/**
 * Distinguishes the causes of events with the same reason: a failed pull, one that only verifies the pod's credentials
 * for a present image, or a limit of the pod itself.
 */
export type EventCause = 'imagePull' | 'imageCredentials' | 'storageLimit';

/** images: progress of a pull, about once a second. Some runtimes report no progress. */
interface PullEvent {
  type: 'PullProgressed';
  pod: PodRef;
  containerName: string;
  image: string;
  /** Received bytes of the layers begun so far, compressed. `totalBytes` is their compressed size. */
  receivedBytes: number;
  /** Absent if the registry did not report it. */
  totalBytes?: number;
}

/** runtime: the container runtime answers and reports itself ready, or no longer does. */
type RuntimeEvent =
  { type: 'RuntimeReady'; name: string; version: string } | { type: 'RuntimeNotReady'; message: string };
