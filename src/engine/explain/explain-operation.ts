import { reasons } from '../view/reasons.ts';
import type { Finding } from './explanation.ts';
import { commandName, eventEvidence, newestEvent, type Subject } from './subject.ts';

/** Explains a pod that an operator stopped, once its containers have exited. */
export function explainStop(subject: Subject): Finding | undefined {
  const { reason, message = '' } = subject.pod.status ?? {};
  if (reason !== reasons.stopped || subject.worker?.state === 'terminating') return undefined;
  return {
    stage: 'stopped',
    cause: 'an operator stopped it',
    evidence: [{ from: 'status', text: `${reason}: ${message}` }],
    fixes: [`Start it: kubelet-ts start ${commandName(subject)}`],
  };
}

/**
 * Explains a pod that runs well, but not from the newest manifest, because an operator, an annotation or a
 * rollout wants that.
 */
export function explainHold(subject: Subject): Finding | undefined {
  const { reason = '', message = '' } = subject.waitingUpdate ?? {};
  const fixes = holds[reason];
  if (fixes === undefined) return undefined;
  const event = newestEvent(subject, [reasons.rolledBack]);
  const update = { from: 'update', text: `${reason}: ${message}` };
  return {
    stage: 'held',
    cause: message,
    evidence: reason === reasons.rolledBack && event !== undefined ? [update, eventEvidence(event)] : [update],
    fixes: fixes(commandName(subject)),
  };
}

/** Explains a pod that runs well although no manifest declares it. */
export function explainUndeclared({ isUndeclared }: Subject): Finding | undefined {
  if (isUndeclared !== true) return undefined;
  return {
    stage: 'held',
    cause: 'no manifest declares it; it is kept, because otherwise this start would remove every pod',
    evidence: [],
    fixes: [
      'Keep it: run kubelet-ts with the folder or URL that declares it.',
      'Stop it, and all other pods without a manifest: kubelet-ts run MANIFESTS --prune',
    ],
  };
}

/** True for an update that waits although the node could run it. */
export const isHold = (reason: string): boolean => reason in holds;

/** Fixes, by the reason why the update waits. */
const holds: Readonly<Record<string, (name: string) => string[]>> = {
  Held: (name) => [`Run the newest manifest: kubelet-ts unhold ${name}`, `See it: kubelet-ts diff ${name}`],
  RolledBack: (name) => [
    'Correct the manifest: a changed one is tried at once.',
    `Or try the same one again: kubelet-ts unhold ${name}`,
    `List its revisions: kubelet-ts history ${name}`,
  ],
  RollOut: () => [
    'Find the pod that is not available yet: kubelet-ts get all',
    'If the rollout is paused: kubelet-ts rollout resume deploy/NAME',
  ],
  OnDelete: (name) => [`Change it now: kubelet-ts restart ${name}`],
  UpdateWindow: () => ['Wait for the window, or change the annotation kubelet-ts.io/update-window.'],
  UpdateLock: () => ['Remove the lock file, or the annotation kubelet-ts.io/update-lock.'],
};
