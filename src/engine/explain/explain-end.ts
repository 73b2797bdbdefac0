import { startsAgain } from '../../api/values/restart-rules.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import { reasons } from '../view/reasons.ts';
import { retryConditions } from '../view/retry-conditions.ts';
import { startMeaning } from './explain-container-start.ts';
import type { Evidence, Finding } from './explanation.ts';
import { readRuntimeLog } from './runtime-remedies.ts';
import {
  commandName,
  eventEvidence,
  logEvidence,
  logsCommand,
  newestEvent,
  nextTry,
  type Part,
  partsOf,
  type Subject,
} from './subject.ts';

/** Explains a pod that was evicted, is stopping, or has finished. */
export function explainEnd(subject: Subject): Finding | undefined {
  const { phase, reason = '' } = subject.pod.status ?? {};
  if (reason === reasons.evicted) return evicted(subject);
  const { state } = subject.worker ?? {};
  if (phase === 'Succeeded') return finished(subject, 'all containers have succeeded', []);
  if (phase === 'Failed') return failed(subject);
  if (state === 'terminating' || state === 'terminated') return stopping(subject);
  return undefined;
}

/** Explains a container that failed for good while others of its pod keep running. */
export function explainFailedContainer(subject: Subject): Finding | undefined {
  const { spec } = subject.pod;
  const part = failedParts(subject).find(
    ({ container, status }) => !startsAgain(container, spec, status?.state?.terminated?.exitCode ?? 0),
  );
  if (part === undefined) return undefined;
  const evidence = [...endEvidence(part), ...logEvidence(subject, part)];
  return { stage: 'finished', container: part.container.name, evidence, ...failure(subject, part) };
}

function evicted(subject: Subject): Finding {
  const { message = '' } = subject.pod.status ?? {};
  const event = newestEvent(subject, [reasons.evicted]);
  return {
    stage: 'evicted',
    cause: message.trim(),
    evidence: event === undefined ? [{ from: 'status', text: message.trim() }] : [eventEvidence(event)],
    fixes:
      event?.cause === 'storageLimit'
        ? ['Raise the limit (sizeLimit, or limits of ephemeral-storage), or let the pod write less.']
        : [
            'Free what the node lacks: df -h; free -m; kubelet-ts top',
            'Or raise resources.requests of the pod, so that others are evicted first.',
          ],
    nextTryWhen: retryConditions.node,
    ...nextTry(subject),
  };
}

function stopping(subject: Subject): Finding {
  const event = newestEvent(subject, [reasons.killing, reasons.failedKillPod]);
  const seconds = subject.pod.spec.terminationGracePeriodSeconds ?? 30;
  const error = subject.worker?.lastSyncError;
  return {
    stage: 'stopping',
    cause: error ?? `its containers have up to ${seconds}s to stop`,
    evidence: event === undefined ? [] : [eventEvidence(event)],
    fixes:
      error === undefined
        ? [`Wait for it: kubelet-ts wait ${commandName(subject)} --for deleted`]
        : [readRuntimeLog(subject)],
  };
}

function failed(subject: Subject): Finding {
  const { reason = '', message = '' } = subject.pod.status ?? {};
  if (reason !== '') {
    const isDeadline = reason === 'DeadlineExceeded';
    return finished(subject, `${reason}: ${message}`, isDeadline ? ['Raise spec.activeDeadlineSeconds.'] : []);
  }
  const [part] = failedParts(subject);
  const { fixes, ...found } = failure(subject, part);
  const finding = { ...finished(subject, found.cause, fixes), ...found };
  if (part === undefined) return finding;
  const evidence = [...finding.evidence, ...logEvidence(subject, part)];
  return { ...finding, container: part.container.name, evidence };
}

/** Returns the failed containers. Sidecars do not count, because they are killed when the others have exited. */
function failedParts({ pod }: Subject): Part[] {
  return partsOf(pod).filter(
    ({ container, isInit, status }) =>
      !(isInit && isSidecar(container)) && (status?.state?.terminated?.exitCode ?? 0) !== 0,
  );
}

function failure(subject: Subject, part: Part | undefined): Pick<Finding, 'cause' | 'field' | 'fixes'> {
  const name = part?.container.name ?? '';
  const { exitCode = 1, message = '', reason = '' } = part?.status?.state?.terminated ?? {};
  const policy = part?.container.restartPolicy ?? subject.pod.spec.restartPolicy ?? 'Always';
  if (part !== undefined && reason === 'StartError') {
    const { cause, field, fixes } = startMeaning(message, part, subject);
    return {
      ...(field !== undefined && { field: `${part.path}.${field}` }),
      cause: `${name} did not start: ${cause}; restartPolicy ${policy} does not start it again`,
      fixes: [...fixes, runAgain(subject)],
    };
  }
  return {
    cause: `${name} failed with exit code ${exitCode} (${reason}), and restartPolicy ${policy} does not start it again`,
    fixes: [`Read its output: ${logsCommand(subject, name)}`, runAgain(subject)],
  };
}

function runAgain(subject: Subject): string {
  const name = commandName(subject);
  return subject.worker?.state === 'finished'
    ? `Run it again: kubelet-ts retry ${name}`
    : `Run the pod again: kubelet-ts stop ${name}, then kubelet-ts start ${name}`;
}

function finished({ pod, worker }: Subject, cause: string, fixes: string[]): Finding {
  const ends = partsOf(pod).flatMap(endEvidence);
  return { stage: 'finished', cause, evidence: ends, fixes, ...(worker?.state === 'sync' && nextTry({ pod, worker })) };
}

function endEvidence({ container, status }: Part): Evidence[] {
  const { terminated } = status?.state ?? {};
  if (terminated === undefined) return [];
  const { exitCode, message = '', reason = '', finishedAt = '' } = terminated;
  const at = Date.parse(finishedAt);
  const because = reason === 'StartError' && message !== '' ? `: ${message}` : '';
  const text = `exited with code ${exitCode} (${reason})${because}`;
  return [{ from: `container ${container.name}`, ...(at > 0 && { at }), text }];
}
