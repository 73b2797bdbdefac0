import type { PodLifecycleEvent, PodLifecycleEventType } from '../container/pod-lifecycle-event.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';

type PlegState = 'running' | 'exited' | 'unknown' | 'non-existent';

/**
 * Computes the events between two listings of a pod, containers before sandboxes. Either side may be undefined. A
 * created container counts as unknown, because it neither runs nor died. kubelet: pleg/generic.go computeEvents,
 * generateEvents
 */
export function computePodLifecycleEvents(
  before: RuntimePod | undefined,
  after: RuntimePod | undefined,
): PodLifecycleEvent[] {
  const podUID = (after ?? before)?.uid ?? '';
  const oldStates = statesByID(before);
  const newStates = statesByID(after);
  return [...new Map([...oldStates, ...newStates])].flatMap(([id, { containerName }]) =>
    eventTypes(oldStates.get(id)?.state ?? 'non-existent', newStates.get(id)?.state ?? 'non-existent').map((type) => ({
      podUID,
      type,
      id,
      ...(containerName === undefined ? {} : { containerName }),
    })),
  );
}

interface Listed {
  state: PlegState;
  containerName?: string;
}

function statesByID(pod: RuntimePod | undefined): Map<string, Listed> {
  const states = new Map<string, Listed>();
  for (const { id, state, name } of pod?.containers ?? []) {
    states.set(id, { state: state === 'created' ? 'unknown' : state, containerName: name });
  }
  for (const { id, state } of pod?.sandboxes ?? []) states.set(id, { state: state === 'ready' ? 'running' : 'exited' });
  return states;
}

function eventTypes(before: PlegState, after: PlegState): PodLifecycleEventType[] {
  if (before === after) return [];
  switch (after) {
    case 'running':
      return ['ContainerStarted'];
    case 'exited':
      return ['ContainerDied'];
    case 'unknown':
      return ['ContainerChanged'];
    case 'non-existent':
      return before === 'exited' ? ['ContainerRemoved'] : ['ContainerDied', 'ContainerRemoved'];
  }
}
