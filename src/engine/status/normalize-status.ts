import { firstBytes } from '../../bounded-text.ts';
import type { ContainerState, ContainerStatus, PodSpec, PodStatus } from '../../api/types.ts';
import { maxTerminationMessageBytes } from '../outgoing/outgoing-text.ts';

/** Cuts long termination messages, so that a status stays small: containers share evenly what a pod has. kubelet: status/status_manager.go normalizeStatus */
export function normalizeStatus(spec: PodSpec, status: PodStatus): PodStatus {
  const containerCount = spec.containers.length + (spec.initContainers?.length ?? 0);
  const maxBytes = Math.floor(maxTerminationMessageBytes / Math.max(containerCount, 1));
  const normalize = (statuses: readonly ContainerStatus[]) =>
    statuses.map(({ state, lastState, ...rest }) => ({
      ...rest,
      ...(state && { state: withShortMessage(state, maxBytes) }),
      ...(lastState && { lastState: withShortMessage(lastState, maxBytes) }),
    }));
  const { containerStatuses, initContainerStatuses } = status;
  return {
    ...status,
    ...(initContainerStatuses && { initContainerStatuses: normalize(initContainerStatuses) }),
    ...(containerStatuses && { containerStatuses: normalize(containerStatuses) }),
  };
}

function withShortMessage(state: ContainerState, maxBytes: number): ContainerState {
  const message = state.terminated?.message;
  if (!state.terminated || message === undefined || Buffer.byteLength(message) <= maxBytes) return state;
  return { ...state, terminated: { ...state.terminated, message: firstBytes(message, maxBytes) } };
}
