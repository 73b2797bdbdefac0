import { pendingInit } from '../../api/values/pending-init.ts';
import { pullText } from '../../api/values/pod-printer.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import { reasons } from '../view/reasons.ts';
import { endEvidence } from './explain-crash.ts';
import type { Finding } from './explanation.ts';
import {
  commandName,
  hasBegun,
  isInHook,
  logEvidence,
  logsCommand,
  named,
  nextTry,
  type Part,
  partsOf,
  type Subject,
  waiterText,
} from './subject.ts';

/** Explains a pod that is starting without a failure. */
export function explainProgress(subject: Subject): Finding | undefined {
  return explainHolder(subject) ?? explainPull(subject) ?? explainNextStart(subject);
}

/** Explains a running container that the later ones wait for: an init container, or one with a postStart hook. */
function explainHolder(subject: Subject): Finding | undefined {
  const parts = partsOf(subject.pod);
  const init = pendingInit(subject.pod)?.container;
  const holder =
    hookOfSync(subject, parts) ??
    parts.find((part) => isInHook(part) || (part.container === init && part.status?.state?.running !== undefined));
  if (holder === undefined || subject.worker?.lastSyncError !== undefined) return undefined;
  const { container, status } = holder;
  const startedAt = Date.parse(status?.state?.running?.startedAt ?? '');
  const lastEnd = status?.lastState?.terminated;
  return {
    stage: 'start',
    container: container.name,
    cause: `${named(subject, container)}${holds(subject, holder)}${waiterText(parts, holder)}`,
    evidence: [
      { from: `container ${container.name}`, ...(startedAt > 0 && { at: startedAt }), text: 'started' },
      ...(lastEnd === undefined ? [] : endEvidence(holder, lastEnd)),
      ...logEvidence(subject, holder),
    ],
    fixes: [`Read its output: ${logsCommand(subject, container.name)}`],
  };
}

/**
 * Returns the container whose postStart hook the current sync waits for. The pod's status is older than that sync, so
 * only its events show this.
 */
function hookOfSync({ events = [], worker }: Subject, parts: readonly Part[]): Part | undefined {
  if (worker?.working !== true) return undefined;
  const begun = events.slice(events.findLastIndex(({ type }) => type === 'SyncFinished') + 1);
  const last = begun.findLast((event) => event.type === 'Recorded' && event.reason === reasons.started);
  const name = last?.type === 'Recorded' ? last.containerName : undefined;
  return parts.find(({ container }) => container.name === name && container.lifecycle?.postStart !== undefined);
}

function holds({ pod: { spec } }: Subject, { container, isInit }: Part): string {
  if (!isInit || isSidecar(container)) return 'its postStart hook is still running';
  const inits = spec.initContainers ?? [];
  return `init container ${inits.indexOf(container) + 1} of ${inits.length} is still running`;
}

function explainPull({ pulls = [] }: Subject): Finding | undefined {
  const [pull] = pulls;
  if (pull === undefined) return undefined;
  const cause = `${pull.container}: pulls ${pull.image}, ${pullText(pull)}`;
  return { stage: 'image', container: pull.container, cause, evidence: [], fixes: [] };
}

function explainNextStart(subject: Subject): Finding | undefined {
  const waiting = partsOf(subject.pod).find(({ status }) => !hasBegun(status));
  if (waiting === undefined) return undefined;
  const failure = subject.worker?.lastSyncError;
  return {
    stage: 'start',
    container: waiting.container.name,
    cause: failure ?? `${waiting.container.name} is being started`,
    evidence: [],
    fixes: [`Follow it: kubelet-ts events -w ${commandName(subject)}`],
    ...(failure !== undefined && nextTry(subject)),
  };
}
