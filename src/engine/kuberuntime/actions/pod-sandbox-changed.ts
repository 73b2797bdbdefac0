import type { Pod } from '../../../api/types.ts';
import type { RuntimePodStatus } from '../../container/runtime-pod-status.ts';

export interface SandboxChange {
  /** True if the pod needs a new sandbox. */
  changed: boolean;
  /** Attempt of the sandbox to use or to create. */
  attempt: number;
  /** The existing sandbox. Empty if there is none with the right network. */
  sandboxID: string;
}

/** Decides whether the pod can keep its newest sandbox. kubelet: kuberuntime/util/util.go PodSandboxChanged */
export function podSandboxChanged(pod: Pod, podStatus: RuntimePodStatus): SandboxChange {
  const [newest] = podStatus.sandboxStatuses;
  if (!newest) return { changed: true, attempt: 0, sandboxID: '' };

  const { id: sandboxID, attempt } = newest;
  const replaced = { changed: true, attempt: attempt + 1, sandboxID };
  const readyCount = podStatus.sandboxStatuses.filter(({ state }) => state === 'ready').length;
  if (readyCount > 1 || newest.state !== 'ready') return replaced;

  const hostNetwork = pod.spec.hostNetwork === true;
  if (newest.networkMode !== (hostNetwork ? 'node' : 'pod')) return { ...replaced, sandboxID: '' };
  if (!hostNetwork && newest.ip === '') return replaced;
  return { changed: false, attempt, sandboxID };
}
