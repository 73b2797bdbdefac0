import type { PodRef } from '../../api/values/pod-names.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { PodLifecycleEventType } from '../container/pod-lifecycle-event.ts';
import type { PodWorkerState } from './pod-worker-state.ts';

export type { ManifestProblem } from '../../api/text/manifest-problem.ts';

/** Everything the engine tells the world, in the order it happened. Grouped by who emits it. */
export type KubeletEvent = { /** Milliseconds since the epoch. */ at: number } & (
  SourceEvent | PodConfigEvent | PlegEvent | WorkerEvent | StatusEvent | RecordedEvent | PullEvent | RuntimeEvent
);

/** config: what the sources read. */
interface SourceEvent {
  type: 'SourceRead';
  source: SourceName;
  where: string;
  pods: number;
  problems: ManifestProblem[];
}

/** pod-config: what the sync loop was told to do. */
type PodConfigEvent =
  /** A pod the engine did not know. */
  | { type: 'PodAdded'; pod: PodRef; source: SourceName }
  /** A known pod (same UID) whose manifest changed. */
  | { type: 'PodUpdated'; pod: PodRef; source: SourceName }
  /** A pod that is no longer declared; its worker terminates it. */
  | { type: 'PodRemoved'; pod: PodRef; source: SourceName };

/** pleg: what the runtime did, as seen by the last relist or event. */
interface PlegEvent {
  /** Kubelet's PodLifecycleEventType. */
  type: PodLifecycleEventType;
  pod: PodRef;
  /** Container or sandbox id, without the runtime prefix. */
  id: string;
  /** Name of the container; absent for the sandbox. */
  containerName?: string;
  exitCode?: number;
  /** How a container ended, while the runtime still knows. */
  end?: ContainerEnd;
}

/** A run of a container that is over, as the runtime tells of it. */
export interface ContainerEnd {
  restartCount: number;
  exitCode: number;
  /** Such as `OOMKilled`; may be empty. */
  reason: string;
  /** What it wrote as its termination message, or what the runtime says; may be empty. */
  message: string;
  /** Milliseconds since the epoch; 0: it never started. */
  startedAt: number;
  finishedAt: number;
}

/** pod-workers: life of the one worker each pod has. */
type WorkerEvent =
  /** The worker went to another state of its machine, or is gone (`removed`). */
  | { type: 'WorkerStateChanged'; pod: PodRef; state: PodWorkerState | 'removed' }
  /** A sync began. */
  | { type: 'SyncStarted'; pod: PodRef; state: PodWorkerState }
  /** A sync ended; `nextSyncAt` is when the pod is due again, in milliseconds since the epoch. */
  | { type: 'SyncFinished'; pod: PodRef; durationMs: number; error?: string; nextSyncAt: number };

/** status: the pod's API status changed (the snapshot has it). */
interface StatusEvent {
  type: 'PodStatusChanged';
  pod: PodRef;
  phase: string;
  ready: boolean;
}

/** Kubernetes events, as `kubectl describe` would list them. */
interface RecordedEvent {
  type: 'Recorded';
  eventType: 'Normal' | 'Warning';
  /** One of reasons.ts. */
  reason: string;
  message: string;
  /** What to do about it, for the log. */
  hint?: string;
  /** Absent: about the node. */
  pod?: PodRef;
  containerName?: string;
}

/** images: more of an image has come, about once a second while it is pulled. Where the runtime does not tell there are none. */
interface PullEvent {
  type: 'PullProgressed';
  pod: PodRef;
  containerName: string;
  image: string;
  /** Compressed, of the layers that were begun so far, as is `totalBytes`. */
  receivedBytes: number;
  /** Absent: the registry did not say. */
  totalBytes?: number;
}

/** runtime: whether the container runtime answers and says it is ready. */
type RuntimeEvent =
  { type: 'RuntimeReady'; name: string; version: string } | { type: 'RuntimeNotReady'; message: string };
