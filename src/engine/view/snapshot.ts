import type { Pod } from '../../api/types.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { KubeletEvent, ManifestProblem } from './events.ts';
import type { PodWorkerState } from './pod-worker-state.ts';
import type { FaultSnapshot } from '../../flow/faults.ts';

/** The whole engine at one moment, as plain JSON. The screen, `ps` and the control socket read this and `subscribe()`. */
export interface EngineSnapshot {
  nodeName: string;
  /** Milliseconds since the epoch, as every `…At` here. */
  startedAt: number;
  runtime: RuntimeSnapshot;
  pleg: PlegSnapshot;
  sources: SourceSnapshot[];
  /** What went wrong in the agent itself since it started; empty as long as nothing did. */
  faults: FaultSnapshot[];
  /** Declared pods and those that are still terminating, sorted by namespace and name. */
  pods: PodSnapshot[];
}

export interface RuntimeSnapshot {
  endpoint: string;
  /** Why this endpoint was chosen, for people. */
  chosenBecause: string;
  name: string;
  version: string;
  /** Undefined while the runtime is healthy. */
  error?: string;
  /** Set while the runtime says that the pod network is not ready; only host-network pods start then. */
  networkError?: string;
}

export interface PlegSnapshot {
  mode: 'generic' | 'evented';
  lastRelistAt?: number;
  /** How long the last relist took. */
  lastRelistMs?: number;
}

export interface SourceSnapshot {
  source: SourceName;
  /** Folder, file, URL or `<stdin>`. */
  where: string;
  /** False until it was read for the first time. */
  ready: boolean;
  pods: number;
  lastReadAt?: number;
  problems: ManifestProblem[];
}

export interface PodSnapshot {
  /** The pod with its current status. */
  pod: Pod;
  source: SourceName;
  /** UID of the revision of this pod that is declared now, and waits for this one to go; absent: this is it. */
  replacedBy?: string;
  /** Containers of its status that were made from an earlier manifest under the same UID; absent: none. */
  outdatedContainers?: string[];
  worker: WorkerSnapshot;
  /** Why it was not admitted, and when that is looked at again. */
  rejection?: Rejection;
  /** Images that are being pulled for it, as far as it is known how far they have come; absent without any. */
  pulls?: PullSnapshot[];
  /** The newest events of this pod, oldest first; at most 64. */
  events: KubeletEvent[];
}

/** Why a pod may not run on this node now. kubelet: lifecycle/interfaces.go PodAdmitResult */
export interface Rejection {
  reason: string;
  message: string;
  /** What may change it. kubelet: nothing does, short of a restart. */
  retriedWhen: 'a pod ends' | 'its manifest changes' | 'manifests change' | 'the node takes pods again';
}

/** How much of an image has come, as it travels: compressed, and of the layers that were begun. */
export interface PullFigures {
  receivedBytes: number;
  /** Absent: the registry did not say. */
  totalBytes?: number;
}

/** A pull under way, with how far it has come. */
export interface PullSnapshot extends PullFigures {
  container: string;
  image: string;
}

export interface WorkerSnapshot {
  state: PodWorkerState;
  /** A sync is in flight now. */
  working: boolean;
  /** An update waits for the sync in flight to end. */
  pending: boolean;
  lastSyncAt?: number;
  lastSyncMs?: number;
  lastSyncError?: string;
  nextSyncAt?: number;
}

/** What a reader may hold of a running engine. */
export interface EngineView {
  snapshot(): EngineSnapshot;
  /** Calls `listener` for every event from now on, until the returned function is called. A listener must not throw. */
  subscribe(listener: (event: KubeletEvent) => void): () => void;
}

/** What a reader may wait for. */
export interface EngineSettling {
  /** Resolves once the snapshot shows what the files of manifests declared at the time of the call. */
  settled(): Promise<void>;
}
