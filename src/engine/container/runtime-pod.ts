import type { SourceName } from '../../api/values/config-annotations.ts';
import type { RuntimeContainerState } from './runtime-pod-status.ts';

/** One pod as the runtime lists it. */
export interface RuntimePod {
  uid: string;
  name: string;
  namespace: string;
  /** Kind of the source that declared the pod. Undefined if no sandbox of the pod records it. */
  source?: SourceName;
  /** The pod's `dependsOn` annotation. */
  dependsOn?: string;
  createdAt: number;
  sandboxes: { id: string; state: 'ready' | 'notready'; createdAt: number }[];
  containers: RuntimeContainer[];
}

export interface RuntimeContainer {
  id: string;
  name: string;
  state: RuntimeContainerState;
  createdAt: number;
  sandboxID: string;
}

/** True if a container of the pod runs or its sandbox is ready. */
export function isPodRunning({ containers, sandboxes }: RuntimePod): boolean {
  return containers.some(({ state }) => state === 'running') || sandboxes.some(({ state }) => state === 'ready');
}

/** True if at least one of its containers runs. */
export function hasRunningContainer({ containers }: RuntimePod): boolean {
  return containers.some(({ state }) => state === 'running');
}
