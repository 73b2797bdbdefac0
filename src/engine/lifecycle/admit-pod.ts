import type { Taint, Toleration } from 'kubernetes-types/core/v1.js';
import type { Pod, PodSpec, ResourceList } from '../../api/types.ts';
import { isStaticPod } from '../../api/values/config-annotations.ts';
import { isCriticalPod } from '../../api/values/critical-pod.ts';
import { type EvictionPolicy, isEvictable } from '../../api/values/eviction-policy.ts';
import { type LabelledNode, matchesNodeSelector } from '../../api/values/node-selector.ts';
import { hasPodLevelResources } from '../../api/values/pod-level-resources.ts';
import { podKey } from '../../api/values/pod-names.ts';
import { podQOSClass } from '../../api/values/qos.ts';
import { requiresAppArmor } from '../kuberuntime/request/apparmor-profile.ts';
import type { Rejection } from '../view/snapshot.ts';
import { describeUsedPort, usedHostPorts } from './host-ports.ts';
import {
  describeInsufficient,
  type InsufficientResource,
  insufficientResources,
  insufficientDetails,
} from './node-fit.ts';
import { describeRequirements, podsToPreempt } from './preemption.ts';
import { forbiddenSysctl, type SysctlAllowlist } from './sysctl-allowlist.ts';

/** Properties of the node that determine which pods may run. */
export interface AdmissionNode {
  name: string;
  labels: Readonly<Record<string, string>>;
  taints: readonly Taint[];
  allocatable: ResourceList;
  allowedSysctls: SysctlAllowlist;
  appArmorEnabled: boolean;
  /** What the runtime reports. Undefined until it has answered. */
  supportsSupplementalGroupsPolicy: boolean | undefined;
  /** Feature gate PodLevelResources. */
  allowsPodLevelResources: boolean;
  /** Current pressure conditions, such as `MemoryPressure`. */
  pressures: readonly string[];
  /** Pods that may not be evicted start even under pressure. */
  evictionPolicy: EvictionPolicy;
  isShuttingDown: boolean;
}

export type Refusal = Omit<Rejection, 'retryOn'> & Partial<Pick<Rejection, 'retryOn'>>;

/** Admitted once the pods in `preempt`, which hold the `missing` resources, have stopped; or rejected. */
export type Admission = { admit: true; preempt: Pod[]; missing?: string[] } | { admit: false; rejection: Rejection };

/**
 * Decides whether a pod may run with `others`. Pods in `needed`, by UID, are never preempted for it. `allocation` is
 * the reason why CPUs, memory nodes or devices could not be allocated.
 */
export function admitPod(
  pod: Pod,
  others: readonly Pod[],
  node: AdmissionNode,
  needed: ReadonlySet<string> = new Set(),
  allocation?: Refusal,
): Admission {
  const decision = decide(pod, { others, node, needed, allocation });
  if (!('refusal' in decision)) return { admit: true, ...decision };
  // If the pod would be rejected even on an empty node, the end of other pods does not help.
  const onEmptyNode = decide(pod, { others: [], node, needed, allocation: undefined });
  const retryOn = 'refusal' in onEmptyNode ? (onEmptyNode.refusal.retryOn ?? 'manifest') : 'podEnd';
  return { admit: false, rejection: { retryOn, ...decision.refusal } };
}

type Decision = { preempt: Pod[]; missing?: string[] } | { refusal: Refusal };

interface Circumstances {
  others: readonly Pod[];
  node: AdmissionNode;
  needed: ReadonlySet<string>;
  allocation: Refusal | undefined;
}

/** True if no check before the allocation of CPUs, memory nodes and devices rejects the pod. */
export function reachesAllocation(pod: Pod, node: AdmissionNode): boolean {
  return refusalBeforeAllocation(pod, node) === undefined;
}

function refusalBeforeAllocation(pod: Pod, node: AdmissionNode): Refusal | undefined {
  return pressureRefusal(pod, node) ?? sysctlRefusal(pod, node);
}

/** The first handler that rejects the pod decides. kubelet: kubelet.go canAdmitPod */
function decide(pod: Pod, { others, node, needed, allocation }: Circumstances): Decision {
  const before = refusalBeforeAllocation(pod, node) ?? allocation ?? osRefusal(pod) ?? groupsRefusal(pod, node);
  if (before !== undefined) return { refusal: before };
  const fit = fitOrPreempt(pod, others, node, needed);
  if ('refusal' in fit) return fit;
  const after = appArmorRefusal(pod, node) ?? podLevelRefusal(pod, node) ?? shutdownRefusal(node);
  return after === undefined ? fit : { refusal: after };
}

/** kubelet: eviction/eviction_manager.go Admit */
function pressureRefusal(pod: Pod, { pressures, evictionPolicy }: AdmissionNode): Refusal | undefined {
  if (pressures.length === 0 || !isEvictable(pod, evictionPolicy)) return undefined;
  const taint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };
  const isOnlyMemory = pressures.every((pressure) => pressure === 'MemoryPressure');
  if (isOnlyMemory && (podQOSClass(pod) !== 'BestEffort' || toleratesTaint(pod.spec.tolerations ?? [], taint))) {
    return undefined;
  }
  const message = `The node had condition: [${pressures.join(' ')}]. `;
  return { reason: 'Evicted', message, retryOn: 'node' };
}

/** kubelet: sysctl/allowlist.go Admit */
function sysctlRefusal({ spec }: Pod, { allowedSysctls }: AdmissionNode): Refusal | undefined {
  const forbidden = forbiddenSysctl(spec, allowedSysctls);
  return forbidden === undefined ? undefined : { reason: 'SysctlForbidden', message: `forbidden sysctl: ${forbidden}` };
}

/** kubelet: lifecycle/predicate.go rejectPodAdmissionBasedOnOSSelector, rejectPodAdmissionBasedOnOSField */
function osRefusal({ metadata, spec }: Pod): Refusal | undefined {
  const wanted = metadata.labels?.[osLabel];
  if (wanted !== undefined && wanted !== ownOS) {
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: `Failed to admit pod as the \`${osLabel}\` label doesn't match node label`,
    };
  }
  if (spec.os === undefined || spec.os.name === ownOS) return undefined;
  return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" };
}

/** kubelet: lifecycle/predicate.go rejectPodAdmissionBasedOnSupplementalGroupsPolicy */
function groupsRefusal({ spec }: Pod, { supportsSupplementalGroupsPolicy }: AdmissionNode): Refusal | undefined {
  const { supplementalGroupsPolicy: policy } = spec.securityContext ?? {};
  if (policy !== 'Strict' || supportsSupplementalGroupsPolicy !== false) return undefined;
  const message = 'SupplementalGroupsPolicy=Strict is not supported in this node';
  return { reason: 'SupplementalGroupsPolicyNotSupported', message, retryOn: 'node' };
}

/** kubelet: lifecycle/predicate.go Admit, preemption/preemption.go HandleAdmissionFailure */
function fitOrPreempt(pod: Pod, others: readonly Pod[], node: AdmissionNode, needed: ReadonlySet<string>): Decision {
  const missing = insufficientResources(pod, others, node.allocatable);
  const mismatch = predicateFailure(pod, others, node);
  if (!isCriticalPod(pod)) {
    const refusal = missing[0] === undefined ? mismatch : outOf(missing[0]);
    return refusal === undefined ? { preempt: [] } : { refusal };
  }
  if (mismatch !== undefined) return { refusal: mismatch };
  return preempt(pod, others, missing, needed);
}

/** Makes room for a critical pod by stopping others. Rejects the pod only if that is impossible. */
function preempt(
  pod: Pod,
  others: readonly Pod[],
  missing: readonly InsufficientResource[],
  needed: ReadonlySet<string>,
): Decision {
  const requirements = missing.map(({ resource, requested, used, capacity }) => ({
    resource,
    quantity: requested - (capacity - used),
  }));
  const isNeeded = ({ metadata }: Pod): boolean => needed.has(metadata.uid);
  const dispensable = others.filter((other) => !isNeeded(other));
  const preemption = podsToPreempt(pod, dispensable, requirements);
  if ('victims' in preemption) {
    const { victims } = preemption;
    return { preempt: victims, ...(victims.length > 0 && { missing: missing.map(({ resource }) => resource) }) };
  }
  const message = [
    'Unexpected error while attempting to recover from admission failure',
    'preemption: error finding a set of pods to preempt',
    `no set of running pods found to reclaim resources: ${describeRequirements(preemption.unmet)}`,
    // The kubelet's message stops here. This part explains it.
    missing.map((one) => `${describeInsufficient(one)} (${insufficientDetails(one)})`).join('; '),
  ].join(': ');
  const whole = podsToPreempt(pod, others, requirements);
  const wanted = 'victims' in whole ? whole.victims.filter(isNeeded).map(({ metadata }) => podKey(metadata)) : [];
  const why = wanted.length === 0 ? '' : `. It would have to stop ${wanted.join(', ')}, which it waits for`;
  return { refusal: { reason: 'UnexpectedAdmissionError', message: `${message}${why}` } };
}

function outOf(missing: InsufficientResource): Refusal {
  return {
    reason: `OutOf${missing.resource}`,
    message: `${describeInsufficient(missing)} (${insufficientDetails(missing)})`,
  };
}

/** kubelet: scheduler AdmissionCheck, lifecycle/predicate.go generalFilter */
function predicateFailure(pod: Pod, others: readonly Pod[], node: AdmissionNode): Refusal | undefined {
  const { nodeName = '' } = pod.spec;
  const labelled = withOwnOS(node);
  if (!matchesNodeAffinity(pod.spec, labelled)) {
    const details = describeMismatch(pod.spec, labelled);
    return failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector", details);
  }
  if (nodeName !== '' && nodeName !== node.name) {
    const details = `spec.nodeName is ${nodeName}, and this node is ${node.name}`;
    return failed('NodeName', "node(s) didn't match the requested node name", details);
  }
  const used = usedHostPorts(pod, others);
  if (used.length > 0) {
    const details = [...new Set(used.map(describeUsedPort))].join('; ');
    return failed('NodePorts', "node(s) didn't have free ports for the requested pod ports", details);
  }
  if (isStaticPod(pod)) return undefined;
  const repelling = node.taints
    .filter(({ effect }) => effect === 'NoExecute')
    .filter((taint) => !toleratesTaint(pod.spec.tolerations ?? [], taint));
  if (repelling.length === 0) return undefined;
  const details = `it has no toleration for ${repelling.map(({ key, value = '' }) => `${key}=${value}:NoExecute`).join(', ')}`;
  return failed('TaintToleration', "node(s) had taints that the pod didn't tolerate", details);
}

/**
 * True if the node matches the pod's nodeSelector and required node affinity. kubelet:
 * component-helpers/scheduling/corev1/nodeaffinity GetRequiredNodeAffinity
 */
function matchesNodeAffinity({ nodeSelector = {}, affinity }: PodSpec, node: LabelledNode): boolean {
  const selected = Object.entries(nodeSelector).every(([key, value]) => node.labels[key] === value);
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return selected && (required === undefined || matchesNodeSelector(required.nodeSelectorTerms, node));
}

/** Describes the pod's unmet requirements. */
function describeMismatch({ nodeSelector = {} }: PodSpec, { labels }: LabelledNode): string {
  const unmet = Object.entries(nodeSelector)
    .filter(([key, value]) => labels[key] !== value)
    .map(([key, value]) => {
      const own = labels[key];
      return `nodeSelector wants the label ${key}=${value}, and this node has ${own ?? 'none of that name'}`;
    });
  return unmet.length === 0 ? 'no term of its node affinity matches the labels of this node' : unmet.join('; ');
}

const osLabel = 'kubernetes.io/os';
const ownOS = 'linux';

/** Sets the label of the operating system to the real one, if the node has labels. */
function withOwnOS<T extends Pick<AdmissionNode, 'labels'>>(node: T): T {
  if (Object.keys(node.labels).length === 0) return node;
  return { ...node, labels: { ...node.labels, [osLabel]: ownOS } };
}

/** `words` add details that the kubelet does not report. */
function failed(predicate: string, text: string, details: string): Refusal {
  return { reason: predicate, message: `Predicate ${predicate} failed: ${text}: ${details}` };
}

/** kubelet: lifecycle/handlers.go NewAppArmorAdmitHandler */
function appArmorRefusal(pod: Pod, { appArmorEnabled }: AdmissionNode): Refusal | undefined {
  if (appArmorEnabled || !requiresAppArmor(pod)) return undefined;
  return { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };
}

/** kubelet: lifecycle/handlers.go podFeaturesAdmitHandler */
function podLevelRefusal({ spec }: Pod, { allowsPodLevelResources }: AdmissionNode): Refusal | undefined {
  if (allowsPodLevelResources || !hasPodLevelResources(spec)) return undefined;
  return { reason: 'PodLevelResourcesNotSupported', message: 'PodLevelResources feature gate is disabled' };
}

/** kubelet: nodeshutdown/nodeshutdown_manager_linux.go Admit */
function shutdownRefusal({ isShuttingDown }: AdmissionNode): Refusal | undefined {
  if (!isShuttingDown) return undefined;
  const message = 'Pod was rejected as the node is shutting down.';
  return { reason: 'NodeShutdown', message, retryOn: 'node' };
}

/** True if a toleration matches this taint. kubelet: component-helpers/scheduling/corev1 ToleratesTaint */
function toleratesTaint(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some(({ key = '', operator = 'Equal', value = '', effect = '' }) => {
    if (effect !== '' && effect !== taint.effect) return false;
    if (key !== '' && key !== taint.key) return false;
    return operator === 'Exists' || (operator === 'Equal' && value === (taint.value ?? ''));
  });
}
