import { reasons } from '../view/reasons.ts';
import type { Finding } from './explanation.ts';
import { probeMeaning } from './probe-meaning.ts';
import {
  eventEvidence,
  isInHook,
  logEvidence,
  logsCommand,
  named,
  newestEvent,
  type Part,
  partsOf,
  type Subject,
  waiterText,
} from './subject.ts';

/** Explains a container that runs and is not Ready, because a probe fails or has not succeeded yet. */
export function explainProbe(subject: Subject): Finding | undefined {
  const parts = partsOf(subject.pod);
  const part = parts.find(isUnready);
  if (part === undefined) return undefined;
  const { container, path, status } = part;
  const startedAt = Date.parse(status?.state?.running?.startedAt ?? '');
  const event = newestEvent(subject, [reasons.unhealthy], container.name);
  // Only a sidecar that has not started holds back the later containers.
  const waiter = part.isInit ? waiterText(parts, part) : '';
  const base = { stage: 'probe', container: container.name } as const;
  if (event === undefined || event.at < startedAt) {
    const kind = status?.started === true ? 'readiness' : 'startup';
    const cause = `${named(subject, container)}its ${kind} probe has not succeeded yet${waiter}`;
    const fixes = ['Wait for it: kubelet-ts ps -w', `Read its output: ${logsCommand(subject, container.name)}`];
    return { ...base, field: `${path}.${kind}Probe`, cause, evidence: logEvidence(subject, part), fixes };
  }
  const { cause, fixes, field } = probeMeaning(subject, part, event.message);
  return {
    ...base,
    field: `${path}.${field}`,
    cause: `${named(subject, container)}${field.replace('Probe', '')} probe: ${cause}${waiter}`,
    evidence: [eventEvidence(event), ...logEvidence(subject, part)],
    fixes,
  };
}

function isUnready(part: Part): boolean {
  const { container, status, isInit } = part;
  if (status?.state?.running === undefined || isInHook(part)) return false;
  const { readinessProbe, startupProbe } = container;
  if (startupProbe !== undefined && status.started !== true) return true;
  return !isInit && readinessProbe !== undefined && !status.ready;
}
