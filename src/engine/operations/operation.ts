import type { Pod } from '../../api/types.ts';
import { podKey, type PodName } from '../../api/values/pod-names.ts';
import { RequestRefused } from '../../errors.ts';

/** Actions on a declared pod. */
export const operationActions = ['restart', 'stop', 'start', 'retry', 'hold', 'unhold', 'rollback'] as const;
export type OperationAction = (typeof operationActions)[number];

/** An operator's request for a declared pod. */
export interface OperationRequest {
  action: OperationAction;
  pod: PodName;
  /** For `restart`: restarts only this container. */
  container?: string;
  /** For `rollback`: the number of the revision. Absent for the last one that was Ready. */
  to?: number;
}

/** A revision of a pod that `history` shows. */
export interface RevisionSummary {
  revision: number;
  /** Milliseconds since the epoch. */
  takenAt: number;
  from: string;
  /** By container. */
  images: Readonly<Record<string, string>>;
  wasReady: boolean;
  isCurrent: boolean;
}

/** Returns the declared pod of this name. Throws a `RequestRefused` if no manifest declares it. */
export function declaredOrRefused(name: PodName, declaredPod: (name: PodName) => Pod | undefined): Pod {
  const pod = declaredPod(name);
  if (pod !== undefined) return pod;
  throw new RequestRefused('missing', `no manifest declares pod ${podKey(name)}`, 'kubelet-ts ps lists the pods.');
}

/** An ephemeral container for a running pod. */
export interface EphemeralRequest {
  /** A v1.EphemeralContainer. */
  json: string;
  /** True if the container is removed once it has exited. */
  removesAtEnd: boolean;
}

/** What operators can do with the engine. */
export interface EngineOperations {
  /**
   * Resolves with a sentence once the request is on disk. Rejects with a `RequestRefused` if nothing was done, and with
   * the signal's reason if it is aborted before the request begins.
   */
  operate(request: OperationRequest, signal?: AbortSignal): Promise<string>;
  /** Returns the revisions of a pod, oldest first. Throws a `RequestRefused` if no manifest declares it. */
  pastRevisions(pod: PodName): RevisionSummary[];
  /** Resolves with the name of the container once it is on disk, before it starts. Rejects as above. */
  addEphemeralContainer(pod: PodName, request: EphemeralRequest): Promise<string>;
  /** Resolves with a sentence once the removal is on disk. Rejects as above. */
  removeEphemeralContainer(pod: PodName, container: string): Promise<string>;
}
