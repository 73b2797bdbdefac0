import type { Container, Pod } from '../../api/types.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';

/**
 * Reconstructs a pod whose manifest was removed, so that it can be stopped: grace period, preStop hooks, order of
 * sidecars. `revision`, the revision that the pod runs, has all of them. Without it, the container annotations provide
 * everything except the order. kubelet: kuberuntime_container.go restoreSpecsFromContainerLabels
 */
export function podToStop(
  { uid, name, namespace, containerStatuses }: RuntimePodStatus,
  revision: Pod | undefined,
): Pod {
  if (revision !== undefined) return revision;
  const containers = new Map<string, Container>();
  let grace: number | undefined;
  // Use the newest instance of each container.
  for (const { name: container, terminationGracePeriodSeconds, preStop } of containerStatuses) {
    grace ??= terminationGracePeriodSeconds;
    if (containers.has(container)) continue;
    const hook = preStop && { lifecycle: { preStop: preStop.handler }, ports: preStop.ports };
    containers.set(container, { name: container, ...hook });
  }
  return {
    metadata: { uid, name, namespace },
    spec: {
      containers: [...containers.values()],
      ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }),
    },
  };
}
