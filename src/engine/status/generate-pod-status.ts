import { podQOSClass } from '../../api/values/qos.ts';
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/types.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { ProbeResults, ProbeWorkers } from '../container/probe-results.ts';
import { isPastActiveDeadline } from './active-deadline.ts';
import { applyProbeResults, applyProbeResultsToInit, probeWorkersOfSpec } from './apply-probe-results.ts';
import { convertContainerStatuses, type StartFailure } from './convert-container-statuses.ts';
import { generateConditions, kubeletConditionTypes } from './generate-conditions.ts';
import { getPodPhase, type PodPhase } from './get-pod-phase.ts';
import { normalizeStatus } from './normalize-status.ts';
import { sortPodIPs, type IPFamily } from './pod-ips.ts';
import { stampStatus } from './stamp-status.ts';

export interface PodStatusInput {
  pod: Pod;
  podStatus: RuntimePodStatus;
  /** The status computed last time; undefined: none yet, then that of the pod is built upon. */
  oldStatus: PodStatus | undefined;
  probes: ProbeResults;
  /** Which probes are being run; by default all those of the spec. */
  probeWorkers?: ProbeWorkers;
  /** Why containers could not be started the last time, by name. kubelet: reason_cache.go */
  startFailures: ReadonlyMap<string, StartFailure>;
  /** It is decided that nothing of the pod will be started again. */
  podIsTerminal: boolean;
  /** Milliseconds since the epoch. */
  now: number;
  /** Milliseconds since the wall clock showed this; by default as if nobody ever set it. */
  since?: (stamp: number) => number;
  /** Scheme of container ids, such as `containerd`. */
  runtimeName: string;
  nodeIPFamily?: IPFamily;
  /** The runtime can make mounts read-only all the way down. */
  supportsRecursiveReadOnly?: boolean;
}

/** The API status of a pod, from what the runtime and the probes say. kubelet: kubelet_pods.go generateAPIPodStatus */
export function generatePodStatus(input: PodStatusInput): PodStatus {
  const { pod, podStatus, probes, podIsTerminal, now, nodeIPFamily = 'IPv4' } = input;
  const { since = (stamp) => now - stamp } = input;
  const { spec } = pod;
  const oldStatus = input.oldStatus ?? pod.status ?? {};
  const probeWorkers = input.probeWorkers ?? probeWorkersOfSpec(spec);

  // The phase is taken before the probe results: a sidecar counts as not started there.
  const regular = convert('regular', oldStatus.containerStatuses, input);
  const init = convert('init', oldStatus.initContainerStatuses, input);
  const phaseAndReason = nextPhase(pod, oldStatus, getPodPhase(pod, [...regular, ...init], podIsTerminal), since);

  const containerStatuses = applyProbeResults(regular, probes, probeWorkers);
  const initContainerStatuses = applyProbeResultsToInit(spec, init, probes, probeWorkers);
  const foreignConditions = conditionsOfOthers(pod, oldStatus);
  const conditions = generateConditions({
    pod,
    podStatus,
    containerStatuses: [...initContainerStatuses, ...containerStatuses],
    phase: phaseAndReason.phase,
    foreignConditions,
  });
  const [podIP, ...others] = sortPodIPs(podStatus.ips, nodeIPFamily);
  const status: PodStatus = {
    ...phaseAndReason,
    conditions: [...foreignConditions, ...conditions],
    ...(podIP !== undefined && { podIP, podIPs: [podIP, ...others].map((ip) => ({ ip })) }),
    ...(initContainerStatuses.length > 0 && { initContainerStatuses }),
    containerStatuses,
    qosClass: podQOSClass(pod),
  };
  return stampStatus(normalizeStatus(spec, status), oldStatus, now);
}

function convert(
  kind: 'init' | 'regular',
  oldStatuses: readonly ContainerStatus[] = [],
  { pod, podStatus, startFailures, runtimeName, supportsRecursiveReadOnly = false }: PodStatusInput,
): ContainerStatus[] {
  return convertContainerStatuses(kind, {
    pod,
    podStatus,
    oldStatuses,
    startFailures,
    runtimeName,
    supportsRecursiveReadOnly,
  });
}

/** A pod never leaves a terminal phase, and keeps reason and message as long as the phase stays. */
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
  return phase === 'Succeeded' || phase === 'Failed' ? phase : undefined;
}

/** Conditions the kubelet does not set itself. DisruptionTarget is set once, by an eviction, and then carried along. */
function conditionsOfOthers(pod: Pod, oldStatus: PodStatus): PodCondition[] {
  const others = (pod.status?.conditions ?? []).filter(({ type }) => !kubeletConditionTypes.has(type));
  const disruption = oldStatus.conditions?.find(({ type }) => type === 'DisruptionTarget');
  if (!disruption) return others;
  const index = others.findIndex(({ type }) => type === disruption.type);
  return index < 0 ? [...others, disruption] : others.with(index, disruption);
}
