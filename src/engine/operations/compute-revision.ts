import type { Pod } from '../../api/types.ts';
import { isWindowOpen, updateLock, updateWindow } from '../../api/values/update-annotations.ts';
import { currentRevision, type PodRecord, type PodRevision } from './pod-record.ts';

/** Which revision of a declared pod to run: the declared one, or an earlier one with the reason. */
export type RevisionChoice =
  | { kind: 'declared' }
  | {
      kind: 'kept';
      revision: PodRevision;
      reason: 'Held' | 'RolledBack' | KeptRevision['reason'] | 'UpdateWindow' | 'UpdateLock';
      message: string;
    };

/** Why a workload's pod keeps its revision. */
export interface KeptRevision {
  /** `RollOut`: until its turn. `OnDelete`: until an operator restarts it. */
  reason: 'RollOut' | 'OnDelete';
  /** A sentence without a full stop. */
  message: string;
}

/** What prevents a new revision now. */
export interface UpdateGates {
  /** Why the pod waits in the rollout of its workload. */
  rollOut?: KeptRevision | undefined;
  /** The closed window, as written. */
  closedWindow?: string | undefined;
  /** Path of the lock file that exists. */
  lock?: string | undefined;
}

/** `hasLock`: true if the path exists. */
export function computeUpdateGates(pod: Pod, now: Date, hasLock: (path: string) => boolean): UpdateGates {
  const [window, lock] = [updateWindow(pod), updateLock(pod)];
  const time = { day: now.getDay(), minute: now.getHours() * 60 + now.getMinutes() };
  return {
    closedWindow: window === undefined || isWindowOpen(window, time) ? undefined : window,
    lock: lock !== undefined && hasLock(lock) ? lock : undefined,
  };
}

/**
 * Decides which revision of a declared pod runs. `declared` is the name of the revision in the manifest. A pin for a
 * different declared revision no longer counts, because the manifest has changed.
 */
export function computeRevision(
  record: PodRecord | undefined,
  declared: string,
  { rollOut, closedWindow, lock }: UpdateGates,
): RevisionChoice {
  if (record === undefined) return { kind: 'declared' };
  const { pin } = record;
  const pinned = pin && record.revisions.find(({ number }) => number === pin.to);
  if (pin !== undefined && pinned !== undefined) {
    if (pin.whileDeclared === declared)
      return { kind: 'kept', revision: pinned, reason: 'RolledBack', message: pin.because };
    if (pin.whileDeclared === undefined) {
      return pinned.name === declared
        ? { kind: 'declared' }
        : { kind: 'kept', revision: pinned, reason: 'Held', message: pin.because };
    }
  }
  const current = currentRevision(record);
  if (current === undefined || current.name === declared) return { kind: 'declared' };
  if (rollOut !== undefined && record.accepts !== declared) return { kind: 'kept', revision: current, ...rollOut };
  if (lock !== undefined) {
    return { kind: 'kept', revision: current, reason: 'UpdateLock', message: `updates wait while ${lock} exists` };
  }
  if (closedWindow !== undefined) {
    return { kind: 'kept', revision: current, reason: 'UpdateWindow', message: `updates wait for ${closedWindow}` };
  }
  return { kind: 'declared' };
}

/** True if an operator or an automatic rollback chose the revision that the pod runs while this one is declared. */
export function isPinned({ pin }: PodRecord, declared: string): boolean {
  return pin !== undefined && (pin.whileDeclared === undefined || pin.whileDeclared === declared);
}

/** Returns the revision to roll back to: the last other one that was Ready. Returns undefined if there is none. */
export function rollbackTarget(record: PodRecord, to?: number): PodRevision | undefined {
  if (to !== undefined) return record.revisions.find(({ number }) => number === to);
  const earlier = record.revisions.filter(({ number }) => number !== record.current);
  return earlier.findLast(({ wasReady }) => wasReady) ?? earlier.at(-1);
}

/**
 * Returns the revision to roll back to because the current one is late. Returns undefined if the current one is in time
 * or was Ready, or if no other one was. `ageMs` counts from when the current one was chosen.
 */
export function lateRollback(
  record: PodRecord,
  deadlineMs: number | undefined,
  ageMs: number,
): PodRevision | undefined {
  if (record.pin !== undefined || record.isStopped === true || deadlineMs === undefined) return undefined;
  if (ageMs < deadlineMs || currentRevision(record)?.wasReady !== false) return undefined;
  return record.revisions.filter(({ number }) => number !== record.current).findLast(({ wasReady }) => wasReady);
}
