/**
 * State of a pod worker (kubelet: pod_workers.go PodWorkType, plus the first and the last):
 *
 *   waiting ──► sync ──► terminating ──► terminated ──► finished
 *      └──────────────────────┴── (never started: straight to finished)
 *
 * `waiting`: another pod of the same full name must stop first, or nothing has run yet.
 */
export type PodWorkerState = 'waiting' | 'sync' | 'terminating' | 'terminated' | 'finished';
