import { reasons } from '../view/reasons.ts';
import type { Finding } from './explanation.ts';
import { probeMeaning } from './probe-meaning.ts';
import { eventEvidence, named, newestEvent, type Part, partsOf, type Subject } from './subject.ts';

/** A container that runs and is not Ready, because a probe fails or has not succeeded yet. */
export function explainProbe(subject: Subject): Finding | undefined {
  const part = partsOf(subject.pod).find(isUnready);
  if (part === undefined) return undefined;
  const { container, path, status } = part;
  const startedAt = Date.parse(status?.state?.running?.startedAt ?? '');
  const event = newestEvent(subject, [reasons.unhealthy], container.name);
  const base = { stage: 'probe', container: container.name } as const;
  if (event === undefined || event.at < startedAt) {
    const kind = status?.started === true ? 'readiness' : 'startup';
    const cause = `${named(subject, container)}its ${kind} probe has not succeeded yet`;
    return { ...base, field: `${path}.${kind}Probe`, cause, evidence: [], ways: ['Wait for it: kubelet-ts ps -w'] };
  }
  const { cause, ways, field } = probeMeaning(subject, part, event.message);
  return {
    ...base,
    field: `${path}.${field}`,
    cause: `${named(subject, container)}${field.replace('Probe', '')} probe: ${cause}`,
    evidence: [eventEvidence(event)],
    ways,
  };
}

function isUnready({ container, status, isInit }: Part): boolean {
  if (status?.state?.running === undefined) return false;
  const { readinessProbe, startupProbe } = container;
  if (startupProbe !== undefined && status.started !== true) return true;
  return !isInit && readinessProbe !== undefined && !status.ready;
}
