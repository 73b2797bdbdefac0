import { explainAdmission, explainStartOrder } from './explain-admission.ts';
import { explainContainerStart } from './explain-container-start.ts';
import { explainCrash } from './explain-crash.ts';
import { explainEnd, explainFailedContainer } from './explain-end.ts';
import { explainImage } from './explain-image.ts';
import {
  explainAgent,
  explainManifest,
  explainRepeated,
  explainReplacement,
  explainRuntime,
  explainUpdate,
} from './explain-node.ts';
import { explainHold, explainStop, explainUndeclared } from './explain-operation.ts';
import { explainProbe } from './explain-probe.ts';
import { explainProgress } from './explain-progress.ts';
import { explainSandbox } from './explain-sandbox.ts';
import type { Explanation, Finding } from './explanation.ts';
import type { Examiner, Subject } from './subject.ts';

/** The order matters: the first examiner with a finding wins. */
const examiners: readonly Examiner[] = [
  explainAgent,
  explainRuntime,
  explainManifest,
  explainAdmission,
  explainUpdate,
  explainReplacement,
  explainStartOrder,
  explainStop,
  explainEnd,
  explainSandbox,
  explainImage,
  explainContainerStart,
  explainCrash,
  explainFailedContainer,
  explainProbe,
  explainProgress,
  explainHold,
  explainUndeclared,
  explainRepeated,
];

/** Explains which stage a pod is in, why, and what to do. */
export function explainPod(subject: Subject): Explanation {
  const { namespace, name } = subject.pod.metadata;
  for (const examine of examiners) {
    const finding = examine(subject);
    if (finding !== undefined) return { namespace, name, ...finding };
  }
  return { namespace, name, ...running(subject) };
}

function running({ pod }: Subject): Finding {
  const conditions = pod.status?.conditions ?? [];
  const unmet = conditions.find(({ type, status }) => type === 'Ready' && status !== 'True');
  const evidence = conditions
    .filter(({ type }) => type === 'Ready')
    .map(({ type, status, reason = '', message = '', lastTransitionTime = '' }) => {
      const at = Date.parse(lastTransitionTime);
      const text = [status, reason, message].filter((part) => part !== '').join(' ');
      return { from: `condition ${type}`, ...(at > 0 && { at }), text };
    });
  const cause = unmet === undefined ? 'it runs and is Ready' : (unmet.message ?? unmet.reason ?? 'it is not Ready');
  return { stage: 'running', cause, evidence, fixes: [] };
}
