import type { Pod } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import { type PodRef, podRef } from '../../api/values/pod-names.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import type { OOMContainer } from './oom-watcher.ts';

interface Deps {
  /** Finds a pod of this agent in the runtime's last listing. */
  listedPod: (uid: string) => RuntimePod | undefined;
  /** Finds a pod that a manifest declares. */
  declaredPod: (uid: string) => Pod | undefined;
  /** Finds the pod of a listed container. */
  listedPodUIDOf: (containerID: string) => string | undefined;
  /** Asks the runtime, for containers that are not listed yet. Resolves with undefined if it does not know the id. */
  askPodUIDOf: (containerID: string) => Promise<string | undefined>;
  askStatus: (containerID: string) => Promise<{ name: string } | undefined>;
}

/** Finds the pods and containers of this agent that OOM reports are about. Ignores pods of other owners. */
export function oomContainers(deps: Deps): {
  findPod: (uid: string) => PodRef | undefined;
  findContainer: (id: string) => Promise<OOMContainer | undefined>;
} {
  const findPod = (uid: string): PodRef | undefined => {
    const listed = deps.listedPod(uid);
    if (listed) return { namespace: listed.namespace, name: listed.name, uid };
    const declared = deps.declaredPod(uid);
    return declared && podRef(declared);
  };
  return {
    findPod,
    findContainer: async (id) => {
      const podUID = deps.listedPodUIDOf(id) ?? (await deps.askPodUIDOf(id));
      const pod = podUID === undefined ? undefined : findPod(podUID);
      if (podUID === undefined || pod === undefined) return undefined;
      const listed = deps.listedPod(podUID)?.containers.find((container) => container.id === id);
      const { name } = listed ?? (await deps.askStatus(id)) ?? {};
      // A sandbox has no container status.
      if (name === undefined) return undefined;
      return { id, pod, name, limit: memoryLimit(deps.declaredPod(podUID), name) };
    },
  };
}

function memoryLimit(pod: Pod | undefined, containerName: string): string | undefined {
  const container = pod && initAndRegularContainers(pod.spec).find(({ name }) => name === containerName);
  return container?.resources?.limits?.['memory'];
}
