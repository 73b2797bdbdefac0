import type { Container, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus } from '../../api/types.ts';
import { mayRestartAll } from '../../api/values/restart-rules.ts';
import { isSidecar, sidecarsOf } from '../../api/values/sidecars.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { podSandboxChanged } from '../kuberuntime/actions/pod-sandbox-changed.ts';
import { areAllContainersRestarting } from '../kuberuntime/actions/restart-all-containers.ts';
import type { PodPhase } from './get-pod-phase.ts';

/** Types of the conditions that the kubelet sets. kubelet: types/pod_status.go PodConditionsByKubelet */
export const kubeletConditionTypes: ReadonlySet<string> = new Set([
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'AllContainersRestarting',
  'PodResizePending',
  'PodResizeInProgress',
]);

/** Why other resources of a pod wait: until the node has room, or for good. */
export interface PendingResize {
  reason: 'Deferred' | 'Infeasible';
  message: string;
}

/** The progress of a change of a pod's resources in place. */
export interface ResizeState {
  pending?: PendingResize;
  isInProgress: boolean;
  /** Why the last attempt failed. */
  error?: string;
}

export interface ConditionsInput {
  pod: Pod;
  podStatus: RuntimePodStatus;
  /** Statuses of init and regular containers, with `ready` and `started`. */
  containerStatuses: readonly ContainerStatus[];
  phase: PodPhase;
  /** Conditions not set by the kubelet, for readiness gates. */
  foreignConditions: readonly PodCondition[];
  /** True if the pod has a ready sandbox that is newer than `podStatus`. */
  hasNewSandbox: boolean;
  resize?: ResizeState | undefined;
}

/** The conditions that the kubelet sets on a pod, in its order and without times. kubelet: status/generate.go */
export function generateConditions(input: ConditionsInput): PodCondition[] {
  const { pod, podStatus, containerStatuses, phase, foreignConditions, hasNewSandbox } = input;
  const isReadyToStart = hasNewSandbox || !podSandboxChanged(pod, podStatus).changed;
  const containersReady = containersReadyCondition(pod.spec, containerStatuses, phase);
  return [
    { type: 'PodReadyToStartContainers', status: isReadyToStart ? 'True' : 'False' },
    initializedCondition(pod.spec, containerStatuses, phase),
    readyCondition(pod.spec, containersReady, foreignConditions),
    containersReady,
    { type: 'PodScheduled', status: 'True' },
    ...(mayRestartAll(pod.spec) ? [allContainersRestartingCondition(pod, podStatus)] : []),
    ...resizeConditions(input.resize),
  ];
}

/** Absent once all resources are those of the manifest. kubelet: kubelet_pods.go determinePodResizeStatus */
function resizeConditions({ pending, isInProgress, error }: ResizeState = { isInProgress: false }): PodCondition[] {
  const failure = error === undefined ? {} : { reason: 'Error', message: error };
  return [
    ...(pending === undefined ? [] : [{ type: 'PodResizePending', status: 'True', ...pending }]),
    ...(isInProgress ? [{ type: 'PodResizeInProgress', status: 'True', ...failure }] : []),
  ];
}

/** kubelet: status/generate.go GenerateAllContainersRestartingCondition */
function allContainersRestartingCondition(pod: Pod, podStatus: RuntimePodStatus): PodCondition {
  const type = 'AllContainersRestarting';
  if (!areAllContainersRestarting(pod, podStatus)) return { type, status: 'False' };
  return { type, status: 'True', reason: 'RestartAllContainersStarted' };
}

/** Ready, from ContainersReady and the readiness gates. kubelet: status/generate.go GeneratePodReadyCondition */
export function readyCondition(
  spec: PodSpec,
  containersReady: PodCondition,
  conditions: readonly PodCondition[],
): PodCondition {
  const type = 'Ready';
  if (containersReady.status !== 'True') return { ...containersReady, type };

  const messages = (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const status = conditions.find((condition) => condition.type === conditionType)?.status;
    if (status === undefined)
      return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    return status === 'True'
      ? []
      : [`the status of pod readiness gate "${conditionType}" is not "True", but ${status}`];
  });
  if (messages.length === 0) return { type, status: 'True' };
  return { type, status: 'False', reason: 'ReadinessGatesNotReady', message: messages.join(', ') };
}

/** kubelet: status/generate.go GenerateContainersReadyCondition */
export function containersReadyCondition(
  spec: PodSpec,
  statuses: readonly ContainerStatus[],
  phase: PodStatus['phase'],
): PodCondition {
  const type = 'ContainersReady';
  const { unknown, lacking } = sortOut([...sidecarsOf(spec), ...spec.containers], statuses, (_, { ready }) => ready);
  if (phase === 'Succeeded' && unknown.length === 0) return { type, status: 'False', reason: 'PodCompleted' };
  // Containers of a failed pod may still be terminating.
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  const message = describe({ unknown, lacking, lack: 'unready' });
  if (message === '') return { type, status: 'True' };
  return { type, status: 'False', reason: 'ContainersNotReady', message };
}

/** kubelet: status/generate.go GeneratePodInitializedCondition */
function initializedCondition(spec: PodSpec, statuses: readonly ContainerStatus[], phase: PodPhase): PodCondition {
  const type = 'Initialized';
  const { unknown, lacking } = sortOut(spec.initContainers ?? [], statuses, (container, { ready, started }) =>
    isSidecar(container) ? started === true : ready,
  );
  if (phase === 'Succeeded' && unknown.length === 0) return { type, status: 'True', reason: 'PodCompleted' };
  // A restarting sidecar does not undo the initialization.
  if (hasAnyRegularContainerStarted(spec, statuses)) return { type, status: 'True' };
  const message = describe({ unknown, lacking, lack: 'incomplete' });
  if (message === '') return { type, status: 'True' };
  return { type, status: 'False', reason: 'ContainersNotInitialized', message };
}

/** Names of containers without a status, and of containers for which `isFine` returns false. */
function sortOut(
  containers: readonly Container[],
  statuses: readonly ContainerStatus[],
  isFine: (container: Container, status: ContainerStatus) => boolean,
): { unknown: string[]; lacking: string[] } {
  const unknown: string[] = [];
  const lacking: string[] = [];
  for (const container of containers) {
    const status = statuses.find(({ name }) => name === container.name);
    if (!status) unknown.push(container.name);
    else if (!isFine(container, status)) lacking.push(container.name);
  }
  return { unknown, lacking };
}

function describe(names: { unknown: string[]; lacking: string[]; lack: 'unready' | 'incomplete' }): string {
  const parts = [
    { what: 'unknown', list: names.unknown },
    { what: names.lack, list: names.lacking },
  ];
  return parts
    .filter(({ list }) => list.length > 0)
    .map(({ what, list }) => `containers with ${what} status: [${list.join(' ')}]`)
    .join(', ');
}

/**
 * True if a regular container runs or ended, so that the pod was initialized. A container that waits for a restart does
 * not count. kubelet: container/helpers.go HasAnyRegularContainerStarted
 */
function hasAnyRegularContainerStarted(spec: PodSpec, statuses: readonly ContainerStatus[]): boolean {
  const regular = new Set(spec.containers.map(({ name }) => name));
  return statuses.some(({ name, state }) => regular.has(name) && (state?.running ?? state?.terminated) !== undefined);
}
