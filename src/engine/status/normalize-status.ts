import type { ContainerState, ContainerStatus, PodSpec, PodStatus } from '../../api/types.ts';

/** Bytes that the termination messages of one pod may take, shared evenly by its containers. */
const MAX_TERMINATION_MESSAGE_BYTES = 12 * 1024;

/** Cuts long termination messages, so that a status stays small. kubelet: status/status_manager.go normalizeStatus */
export function normalizeStatus(spec: PodSpec, status: PodStatus): PodStatus {
  const containerCount = spec.containers.length + (spec.initContainers?.length ?? 0);
  const maxBytes = Math.floor(MAX_TERMINATION_MESSAGE_BYTES / Math.max(containerCount, 1));
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
  return { ...state, terminated: { ...state.terminated, message: cut(message, maxBytes) } };
}

/** The longest beginning of whole characters within `maxBytes`. */
function cut(text: string, maxBytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}
