import { podKey } from '../../api/values/pod-names.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { podStatusText } from '../../api/values/pod-printer.ts';
import { shellWord } from '../../text/shell-word.ts';
import type { EngineSnapshot } from '../view/snapshot.ts';
import { refusalFinding } from './explain-admission.ts';
import { reasons } from '../view/reasons.ts';
import { imageMeaning } from './explain-image.ts';
import { isHold } from './explain-operation.ts';
import type { Evidence, Finding } from './explanation.ts';
import { runtimeRemedies } from './runtime-remedies.ts';
import { commandName, nextTry, partsOf, type Subject } from './subject.ts';

/** Explains that no agent runs, so nothing starts, probes or restarts the pod. */
export function explainAgent({ node, pod }: Subject): Finding | undefined {
  if (node !== undefined) return undefined;
  return {
    stage: 'agent',
    cause: 'no kubelet-ts runs on this root-dir: nothing starts or restarts the pod',
    evidence: [{ from: 'container runtime', text: `its status is ${podStatusText(pod)}` }],
    fixes: ['Start it: kubelet-ts run MANIFESTS', 'Or name the folder of the running one: --root-dir'],
  };
}

/** Explains that the container runtime does not answer. */
export function explainRuntime({ node }: Subject): Finding | undefined {
  const error = node?.runtime.error;
  return error === undefined || node === undefined ? undefined : runtimeFinding(node.runtime, error);
}

/** Returns a finding for any pod: the runtime does not answer. */
export function runtimeFinding(runtime: EngineSnapshot['runtime'], error: string): Finding {
  const { readOnlyDisk } = runtime;
  if (readOnlyDisk !== undefined) {
    return {
      stage: 'runtime',
      cause: error,
      evidence: [{ from: '/proc/self/mountinfo', text: `${readOnlyDisk} is mounted read-only` }],
      fixes: readOnlyRemedies(readOnlyDisk),
    };
  }
  return {
    stage: 'runtime',
    cause: `the container runtime is not ready: ${error}`,
    evidence: [{ from: runtime.endpoint, text: error }],
    fixes: runtimeRemedies(runtime),
  };
}

/** Returns how to make a disk writable. */
function readOnlyRemedies(mount: string): string[] {
  const point = shellWord(mount);
  return [
    'The kernel makes a disk read-only after an error. See which: dmesg | grep -iE "error|remount"',
    `If the disk is sound, make it writable: mount -o remount,rw ${point}`,
    'Otherwise stop the pods with kubelet-ts down, check the disk with fsck, or replace it.',
  ];
}

/** Explains that the newest manifest is broken, so the last good revision keeps running. */
export function explainManifest({ node, pod }: Subject): Finding | undefined {
  const { namespace, name } = pod.metadata;
  const errors = errorsOf(node);
  const kept = errors.find(({ lastGoodPods = [] }) =>
    lastGoodPods.some((one) => one.namespace === namespace && one.name === name),
  );
  if (kept === undefined) return undefined;
  const broken = errors.filter(({ origin }) => origin === kept.origin);
  const cause = broken.find(({ lastGoodPods }) => lastGoodPods === undefined) ?? kept;
  return manifestFinding(cause, broken, 'Its last good revision keeps running.');
}

/**
 * Explains that another manifest declares the pod too. That one is ignored, so it is never why this pod does not run.
 */
export function explainRepeated({ node, pod }: Subject): Finding | undefined {
  const { namespace, name } = pod.metadata;
  const repeated = errorsOf(node).find(
    ({ repeatedPod }) => repeatedPod?.namespace === namespace && repeatedPod.name === name,
  );
  return repeated && manifestFinding(repeated, [repeated], 'The pod that was declared first keeps running.');
}

function errorsOf(node: Subject['node']): ManifestProblem[] {
  return (node?.sources ?? []).flatMap(({ problems }) => problems.filter(({ severity }) => severity === 'error'));
}

/** Returns an error of a manifest as a finding. `others` are all errors of that manifest. */
export function manifestFinding(problem: ManifestProblem, others: readonly ManifestProblem[], more = ''): Finding {
  const { field, message, hint } = problem;
  const place = placeOf(problem);
  return {
    stage: 'manifest',
    cause: `${place}: ${[field, message].filter((part) => part !== undefined).join(': ')}`,
    evidence: others.map(problemEvidence),
    fixes: [
      `${hint ?? 'Correct it.'} Edit ${place}.`,
      `Then check it: kubelet-ts validate ${shellWord(problem.origin)}`,
      ...(more === '' ? [] : [more]),
    ],
  };
}

export function problemEvidence(problem: ManifestProblem): Evidence {
  const { severity, field, message, hint } = problem;
  const text = [severity, field, message].filter((part) => part !== undefined).join(': ');
  return { from: placeOf(problem), text: hint === undefined ? text : `${text} (${hint})` };
}

/** Returns a position such as `/etc/manifests/web.yaml:3:5`. */
function placeOf({ origin, line, column }: ManifestProblem): string {
  return [origin, line, column].filter((part) => part !== undefined).join(':');
}

/** Explains that the newest manifest is good, but not applied yet. */
export function explainUpdate(subject: Subject): Finding | undefined {
  const { waitingUpdate: update, pod } = subject;
  if (update === undefined || isHold(update.reason)) return undefined;
  const { reason, message } = update;
  const more = 'The previous revision keeps running until then.';
  const evidence = [{ from: 'update', text: `${reason}: ${message}` }];
  const { images = [] } = update;
  if (reason === reasons.pulling) {
    const fixes = ['It starts once its images are here. Show the progress: kubelet-ts ps -o wide'];
    return {
      stage: 'image',
      cause: `its update waits: pulling ${images.join(', ')}`,
      evidence,
      fixes: [...fixes, more],
    };
  }
  if (/Image|Pull|Registry/.test(reason)) {
    const { container } = partsOf(pod)[0] ?? {};
    const image = images.find((one) => message.includes(one)) ?? images[0] ?? container?.image ?? '';
    const { cause, fixes } = imageMeaning(image, message, container?.imagePullPolicy);
    return {
      stage: 'image',
      cause: `its update waits: ${cause}`,
      evidence,
      fixes: [...fixes, more],
      ...nextTry(subject),
    };
  }
  const refusal = refusalFinding(reason, message, { pod });
  return { ...refusal, cause: `its update waits: ${refusal.cause}`, evidence, fixes: [...refusal.fixes, more] };
}

/** Explains that the previous revision of the pod has not stopped yet. */
export function explainReplacement(subject: Subject): Finding | undefined {
  const { replacedBy, pod, worker, node } = subject;
  const earlier = node?.pods.find(
    (other) => podKey(other.pod.metadata) === podKey(pod.metadata) && other.replacedBy === pod.metadata.uid,
  );
  if (replacedBy !== undefined || worker?.state !== 'waiting' || earlier === undefined) return undefined;
  return {
    stage: 'start',
    cause: 'is waiting for the old revision to stop',
    evidence: [{ from: 'worker', text: `the previous revision is ${earlier.worker.state}` }],
    fixes: [`Wait for it: kubelet-ts wait ${commandName(subject)} --for updated`],
    nextTryWhen: 'the previous revision has stopped',
  };
}
