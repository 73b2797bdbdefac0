/** Stages of a pod from its manifest to its removal. */
export type Stage =
  | 'agent'
  | 'runtime'
  | 'manifest'
  | 'admission'
  | 'start order'
  | 'network'
  | 'volume'
  | 'image'
  | 'start'
  | 'probe'
  | 'back-off'
  | 'evicted'
  | 'stopping'
  | 'stopped'
  | 'finished'
  | 'held'
  | 'running';

/** One observation that supports an explanation. */
export interface Evidence {
  /** Its origin, such as `event FailedMount`, `condition Ready` or `/etc/manifests/web.yaml:3:5`. */
  from: string;
  /** Milliseconds since the epoch. Absent for a lasting state. */
  at?: number;
  text: string;
}

/** Why a pod is in its stage. */
export interface Finding {
  stage: Stage;
  /** The cause in one line. */
  cause: string;
  container?: string;
  /** Field of the pod that is at fault, such as `spec.containers[0].image`. */
  field?: string;
  evidence: Evidence[];
  /** Fixes, most likely first, each an edit or a command. Empty if nothing needs to be done. */
  fixes: string[];
  /** When the agent retries by itself, in milliseconds since the epoch. */
  nextTryAt?: number;
  /** The event that triggers the next try if no time is set, such as `a pod ends`. */
  nextTryWhen?: string;
}

/** The explanation of one pod. */
export interface Explanation extends Finding {
  namespace: string;
  name: string;
}
