import { reasons } from '../view/reasons.ts';
import type { Finding } from './explanation.ts';
import { commandName, eventEvidence, logsCommand, newestEvent, nextTry, partsOf, type Subject } from './subject.ts';

/** A pod that was evicted, is stopping, or has finished. */
export function explainEnd(subject: Subject): Finding | undefined {
  const { phase, reason = '' } = subject.pod.status ?? {};
  if (reason === reasons.evicted) return evicted(subject);
  const { state } = subject.worker ?? {};
  if (phase === 'Succeeded') return finished(subject, 'all containers have succeeded', []);
  if (phase === 'Failed') return failed(subject);
  if (state === 'terminating' || state === 'terminated') return stopping(subject);
  return undefined;
}

function evicted(subject: Subject): Finding {
  const { message = '' } = subject.pod.status ?? {};
  const event = newestEvent(subject, [reasons.evicted]);
  const isOwnUsage = /exceeds the limit|exceeded its local ephemeral storage|Usage of EmptyDir/i.test(message);
  return {
    stage: 'evicted',
    cause: message.trim(),
    evidence: event === undefined ? [{ from: 'status', text: message.trim() }] : [eventEvidence(event)],
    ways: isOwnUsage
      ? ['Raise the limit (sizeLimit, or limits of ephemeral-storage), or let the pod write less.']
      : [
          'Free what the node lacks: df -h; free -m; kubelet-ts top',
          'Or raise resources.requests of the pod, so that others are evicted first.',
        ],
    nextTryWhen: 'the node takes pods again',
    ...nextTry(subject),
  };
}

function stopping(subject: Subject): Finding {
  const event = newestEvent(subject, [reasons.killing, reasons.failedKillPod]);
  const seconds = subject.pod.spec.terminationGracePeriodSeconds ?? 30;
  const error = subject.worker?.lastSyncError;
  return {
    stage: 'stopping',
    cause: error ?? `its containers have up to ${seconds}s to end`,
    evidence: event === undefined ? [] : [eventEvidence(event)],
    ways:
      error === undefined
        ? [`Wait for it: kubelet-ts wait ${commandName(subject)} --for deleted`]
        : ['Look at the log of the container runtime: journalctl -u containerd'],
  };
}

function failed(subject: Subject): Finding {
  const { reason = '', message = '' } = subject.pod.status ?? {};
  if (reason !== '') {
    const isDeadline = reason === 'DeadlineExceeded';
    return finished(subject, `${reason}: ${message}`, isDeadline ? ['Raise spec.activeDeadlineSeconds.'] : []);
  }
  const part = partsOf(subject.pod).find(({ status }) => (status?.state?.terminated?.exitCode ?? 0) !== 0);
  const name = part?.container.name ?? '';
  const { exitCode = 1, reason: why = '' } = part?.status?.state?.terminated ?? {};
  const policy = subject.pod.spec.restartPolicy ?? 'Always';
  return finished(
    subject,
    `${name} failed with exit code ${exitCode} (${why}), and restartPolicy ${policy} does not start it again`,
    [`Read its output: ${logsCommand(subject, name)}`, 'To run it again, change or rewrite its manifest.'],
  );
}

function finished({ pod, worker }: Subject, cause: string, ways: string[]): Finding {
  const ends = partsOf(pod).flatMap(({ container, status }) => {
    const { terminated } = status?.state ?? {};
    const at = Date.parse(terminated?.finishedAt ?? '');
    const text = `ended with exit code ${terminated?.exitCode ?? ''} (${terminated?.reason ?? ''})`;
    return terminated === undefined ? [] : [{ from: `container ${container.name}`, ...(at > 0 && { at }), text }];
  });
  return { stage: 'finished', cause, evidence: ends, ways, ...(worker?.state === 'sync' && nextTry({ pod, worker })) };
}
