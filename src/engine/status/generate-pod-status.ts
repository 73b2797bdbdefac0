import { isIPv4, isIPv6 } from 'node:net';
import type { ContainerState, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus } from '../../api/types.ts';
import { podQOSClass } from '../../api/values/qos.ts';
import { formatTime } from '../../api/values/time.ts';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import { firstBytes } from '../../text/bounded-text.ts';
import type { ProbeResults, ProbeWorkers } from '../container/probe-results.ts';
import { isPodInitialized, type RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { maxTerminationMessageBytes } from '../redaction/redactor.ts';
import { isPastActiveDeadline } from './active-deadline.ts';
import { applyProbeResults, applyProbeResultsToInit, probeWorkersOfSpec } from './apply-probe-results.ts';
import { type ContainerKind, convertContainerStatuses, type StartFailure } from './convert-container-statuses.ts';
import { generateConditions, kubeletConditionTypes, type ResizeState } from './generate-conditions.ts';
import { getPodPhase, type PodPhase } from './get-pod-phase.ts';
import { podResourceStatus } from './resource-statuses.ts';

export interface PodStatusInput {
  pod: Pod;
  podStatus: RuntimePodStatus;
  /** The previous status. If undefined, the status in the pod object is used. */
  oldStatus: PodStatus | undefined;
  probes: ProbeResults;
  /** Containers whose probes run. Defaults to all containers with probes in the spec. */
  probeWorkers?: ProbeWorkers;
  /** Ids of containers whose postStart hook has not finished. They count as not started. */
  starting?: ReadonlySet<string>;
  /** Restart counts of an earlier agent, by container name. They count without a previous status. */
  restarts?: Readonly<Record<string, number>>;
  /** Failures of the last starts, by container name. kubelet: reason_cache.go */
  startFailures: ReadonlyMap<string, StartFailure>;
  /** True if no container of the pod will be started again. */
  podIsTerminal: boolean;
  /** True if the pod has a ready sandbox that is newer than `podStatus`. */
  hasNewSandbox?: boolean;
  /** Milliseconds since the epoch. */
  now: number;
  /** Milliseconds since a wall-clock time. The default assumes that the clock was never changed. */
  since?: (stamp: number) => number;
  /** Scheme of container ids, such as `containerd`. */
  runtimeName: string;
  nodeIPFamily?: IPFamily;
  /** True if the runtime supports recursive read-only mounts. */
  supportsRecursiveReadOnly?: boolean;
  /** The resize in place that is pending or in progress, if any. */
  resize?: ResizeState | undefined;
}

/** The API status of a pod, from its runtime status and probe results. kubelet: kubelet_pods.go generateAPIPodStatus */
export function generatePodStatus(input: PodStatusInput): PodStatus {
  const { pod, podStatus, probes, podIsTerminal, now, nodeIPFamily = 'IPv4' } = input;
  const { since = (stamp) => now - stamp } = input;
  const { spec } = pod;
  const oldStatus = input.oldStatus ?? pod.status ?? {};
  const { probeWorkers = probeWorkersOfSpec(spec), starting = new Set<string>() } = input;

  // The phase ignores probe results, so a sidecar counts as not started there.
  const regular = convert('regular', oldStatus.containerStatuses, input);
  const init = convert('init', oldStatus.initContainerStatuses, input);
  const ephemeralContainerStatuses = convert('ephemeral', oldStatus.ephemeralContainerStatuses, input);
  const phase = getPodPhase(pod, [...regular, ...init], podIsTerminal, isPodInitialized(spec, podStatus));
  const phaseAndReason = nextPhase(pod, oldStatus, phase, since);

  const containerStatuses = applyProbeResults(regular, { probes, probeWorkers, starting });
  const initContainerStatuses = applyProbeResultsToInit(spec, init, { probes, probeWorkers, starting });
  const foreignConditions = conditionsOfOthers(pod, oldStatus);
  const conditions = generateConditions({
    pod,
    podStatus,
    containerStatuses: [...initContainerStatuses, ...containerStatuses],
    phase: phaseAndReason.phase,
    foreignConditions,
    hasNewSandbox: input.hasNewSandbox === true,
    resize: input.resize,
  });
  const [podIP, ...others] = sortPodIPs(podStatus.ips, nodeIPFamily);
  const status: PodStatus = {
    ...phaseAndReason,
    conditions: [...foreignConditions, ...conditions],
    ...(podIP !== undefined && { podIP, podIPs: [podIP, ...others].map((ip) => ({ ip })) }),
    ...(initContainerStatuses.length > 0 && { initContainerStatuses }),
    containerStatuses,
    ...(ephemeralContainerStatuses.length > 0 && { ephemeralContainerStatuses }),
    qosClass: podQOSClass(pod),
    ...podResourceStatus(pod),
  };
  return stampStatus(normalizeStatus(spec, status), oldStatus, now);
}

function convert(
  kind: ContainerKind,
  oldStatuses: readonly ContainerStatus[] = [],
  input: PodStatusInput,
): ContainerStatus[] {
  return convertContainerStatuses(kind, { supportsRecursiveReadOnly: false, ...input, oldStatuses });
}

/** A pod never leaves a terminal phase. It keeps reason and message while the phase stays. */
function nextPhase(
  pod: Pod,
  oldStatus: PodStatus,
  computed: PodPhase,
  since: (stamp: number) => number,
): { phase: PodPhase; reason?: string; message?: string } {
  const declared = terminalPhase(pod.status);
  let phase = terminalPhase({ phase: computed }) ?? terminalPhase(oldStatus) ?? declared ?? computed;
  let { reason, message } = phase === oldStatus.phase ? keptReason(pod, oldStatus) : {};
  if (isPastActiveDeadline(pod, oldStatus.startTime, since)) {
    phase = 'Failed';
    reason = 'DeadlineExceeded';
    message = 'Pod was active on the node longer than the specified deadline';
  }
  phase = declared ?? phase;
  return { phase, ...(reason && { reason }), ...(message && { message }) };
}

function keptReason({ status }: Pod, oldStatus: PodStatus): Pick<PodStatus, 'reason' | 'message'> {
  const reason = oldStatus.reason ?? status?.reason;
  const message = oldStatus.message ?? status?.message;
  return { ...(reason && { reason }), ...(message && { message }) };
}

function terminalPhase({ phase }: PodStatus = {}): PodPhase | undefined {
  return isPodPhaseTerminal(phase) ? phase : undefined;
}

/** Conditions that the kubelet does not set. An eviction sets DisruptionTarget once, and it is kept. */
function conditionsOfOthers(pod: Pod, oldStatus: PodStatus): PodCondition[] {
  const others = (pod.status?.conditions ?? []).filter(({ type }) => !kubeletConditionTypes.has(type));
  const disruption = oldStatus.conditions?.find(({ type }) => type === 'DisruptionTarget');
  if (!disruption) return others;
  const index = others.findIndex(({ type }) => type === disruption.type);
  return index < 0 ? [...others, disruption] : others.with(index, disruption);
}

/**
 * Adds the times of a new status. The start time never changes, and a condition's transition time only with its status.
 * kubelet: status/status_manager.go updateStatusInternal
 */
function stampStatus(status: PodStatus, oldStatus: PodStatus | undefined, now: number): PodStatus {
  const conditions = status.conditions?.map((condition) => {
    const oldCondition = oldStatus?.conditions?.find(({ type }) => type === condition.type);
    const unchangedSince = oldCondition?.status === condition.status ? oldCondition.lastTransitionTime : undefined;
    return { ...condition, lastTransitionTime: unchangedSince ?? formatTime(now) };
  });
  return {
    ...status,
    ...(conditions && { conditions }),
    startTime: oldStatus?.startTime ?? status.startTime ?? formatTime(now),
  };
}

/**
 * Cuts long termination messages to keep the status small. Containers share the pod's limit evenly. kubelet:
 * status/status_manager.go normalizeStatus
 */
export function normalizeStatus(spec: PodSpec, status: PodStatus): PodStatus {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  const containerCount = containers.length + initContainers.length + ephemeralContainers.length;
  const maxBytes = Math.floor(maxTerminationMessageBytes / Math.max(containerCount, 1));
  const normalize = (statuses: readonly ContainerStatus[]) =>
    statuses.map(({ state, lastState, ...rest }) => ({
      ...rest,
      ...(state && { state: withShortMessage(state, maxBytes) }),
      ...(lastState && { lastState: withShortMessage(lastState, maxBytes) }),
    }));
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  return {
    ...status,
    ...(initContainerStatuses && { initContainerStatuses: normalize(initContainerStatuses) }),
    ...(containerStatuses && { containerStatuses: normalize(containerStatuses) }),
    ...(ephemeralContainerStatuses && { ephemeralContainerStatuses: normalize(ephemeralContainerStatuses) }),
  };
}

function withShortMessage(state: ContainerState, maxBytes: number): ContainerState {
  const message = state.terminated?.message;
  if (!state.terminated || message === undefined || Buffer.byteLength(message) <= maxBytes) return state;
  return { ...state, terminated: { ...state.terminated, message: firstBytes(message, maxBytes) } };
}

export type IPFamily = 'IPv4' | 'IPv6';

/** Family of the node's primary address. IPv4 if it has none. */
export function ipFamilyOf([primary = '']: readonly string[]): IPFamily {
  return isIPv6(primary) ? 'IPv6' : 'IPv4';
}

/** At most one address of each family, the node's family first. kubelet: kubelet_pods.go sortPodIPs */
function sortPodIPs(ips: readonly string[], nodeIPFamily: IPFamily): string[] {
  const families = nodeIPFamily === 'IPv4' ? [isIPv4, isIPv6] : [isIPv6, isIPv4];
  return families.flatMap((isOfFamily) => ips.filter(isOfFamily).slice(0, 1));
}
