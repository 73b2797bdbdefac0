import { reasons } from '../view/reasons.ts';
import { retryConditions } from '../view/retry-conditions.ts';
import type { Finding, Stage } from './explanation.ts';
import { commandName, type Subject } from './subject.ts';

/** Explains a pod that this node does not accept now. */
export function explainAdmission({ rejection, ...subject }: Subject): Finding | undefined {
  if (rejection === undefined) return undefined;
  const { reason, message, retryOn } = rejection;
  return { ...refusalFinding(reason, message, subject), nextTryWhen: retryConditions[retryOn] };
}

/** Explains a pod that waits for other pods. */
export function explainStartOrder({ pod, awaits }: Subject): Finding | undefined {
  const { message = '' } = pod.status ?? {};
  if (awaits === undefined) return undefined;
  const { unready, undeclared } = awaits;
  const [[missing], [awaited]] = [undeclared, unready];
  return {
    stage: 'start order',
    cause: message.replace(/^W/, 'w'),
    field: 'metadata.annotations[kubelet-ts.io/depends-on]',
    evidence: [{ from: 'status', text: `${reasons.waitingForPods}: ${message}` }],
    fixes: [
      ...(missing === undefined
        ? []
        : [`Declare ${missing} in a manifest, or correct its name in the annotation kubelet-ts.io/depends-on.`]),
      ...(awaited === undefined ? [] : [`Ask about that pod: kubelet-ts explain ${awaited}`]),
    ],
    nextTryWhen: missing === undefined ? `${unready.join(', ')} becomes Ready` : retryConditions.anyManifest,
  };
}

/** Returns a refused admission as a finding. */
export function refusalFinding(reason: string, message: string, subject: Pick<Subject, 'pod'>): Finding {
  const { stage = 'admission', field, fixes } = refusals.find(({ pattern }) => pattern.test(reason)) ?? anyRefusal;
  const shown = fieldOf(message) ?? field;
  return {
    stage,
    ...(shown !== undefined && { field: shown }),
    cause: refusalText(message),
    evidence: [{ from: 'admission', text: `${reason}: ${message}` }],
    fixes: fixes(commandName(subject)),
  };
}

/** Returns the part of a message that follows the kubelet's own words. */
function refusalText(message: string): string {
  const [, shortage] = /\((it requests .*?)\)/.exec(message) ?? [];
  if (shortage !== undefined) return shortage;
  const [, , words] = /^Predicate (\w+) failed: [^:]*: (.*)$/s.exec(message) ?? [];
  return (words ?? message.replace(/^spec\.\S+: /, '')).trim();
}

/** Returns the field at the beginning of a message. */
const fieldOf = (message: string): string | undefined => /^(spec\.[^:\s]+): /.exec(message)?.[1];

interface Refusal {
  /** Matches the reason. */
  pattern: RegExp;
  stage?: Stage;
  field?: string;
  fixes: (name: string) => string[];
}

const anyRefusal: Refusal = { pattern: /^/, fixes: (name) => [`Read the whole message: kubelet-ts describe ${name}`] };

const refusals: readonly Refusal[] = [
  {
    pattern: /^OutOf|^UnexpectedAdmissionError$/,
    field: 'spec.containers[0].resources',
    fixes: () => [
      'Lower resources.requests of this pod or of others.',
      'Check the requests of other pods: kubelet-ts describe',
      'Or stop a pod: remove its manifest.',
    ],
  },
  {
    pattern: /^NodeAffinity$/,
    field: 'spec.nodeSelector',
    fixes: () => [
      'Remove or correct nodeSelector and affinity.',
      'Or give this node the label: kubelet-ts run --node-labels KEY=VALUE',
    ],
  },
  { pattern: /^NodeName$/, field: 'spec.nodeName', fixes: () => ['Remove spec.nodeName.'] },
  {
    pattern: /^NodePorts$/,
    field: 'spec.containers[0].ports',
    fixes: () => ['Choose another hostPort, or remove the pod that has it.'],
  },
  {
    pattern: /^SysctlForbidden$/,
    field: 'spec.securityContext.sysctls',
    fixes: () => ['Remove the sysctl, or allow it: kubelet-ts run --allowed-unsafe-sysctls NAME'],
  },
  { pattern: /^AppArmor$/, fixes: () => ['Remove appArmorProfile, or enable AppArmor on this machine.'] },
  {
    pattern: /^SupplementalGroupsPolicyNotSupported$/,
    field: 'spec.securityContext.supplementalGroupsPolicy',
    fixes: () => ['Set it to Merge, or update the container runtime: containerd 2.0 and CRI-O 1.31 support Strict.'],
  },
  {
    pattern: /^PodLevelResourcesNotSupported$/,
    field: 'spec.resources',
    fixes: () => ['Remove the resources of the pod, or do not turn off the feature gate PodLevelResources.'],
  },
  {
    pattern: /^Evicted$/,
    stage: 'evicted',
    fixes: () => [
      'Free what the node lacks: df -h; free -m; kubelet-ts top',
      'The pod starts again when the pressure ends.',
    ],
  },
  {
    pattern: /^StartOrderCycle$/,
    stage: 'start order',
    field: 'metadata.annotations[kubelet-ts.io/depends-on]',
    fixes: () => ['Remove one of these annotations kubelet-ts.io/depends-on.'],
  },
  { pattern: /^NodeShutdown$/, fixes: () => ['Wait: this machine shuts down.'] },
  { pattern: /^UnknownClass$/, fixes: () => ['Declare the class in a manifest next to the pod, or remove the field.'] },
  { pattern: /^PodOS|^OS/, field: 'spec.os', fixes: () => ['Remove spec.os: this node runs Linux.'] },
  {
    pattern: /^TopologyAffinityError$|^SMTAlignmentError$/,
    field: 'spec.containers[0].resources',
    fixes: () => ['Request CPUs and memory that one NUMA node has, or relax --topology-manager-policy.'],
  },
];
