import type { Container, Pod } from '../../api/types.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';

/**
 * Returns a pod whose manifest is gone, with what its stop depends on: grace period, preStop hooks, order of the
 * sidecars. All of it is in `revision`, the one that the pod runs. Without it, the annotations of its containers have
 * everything but the order. kubelet: kuberuntime_container.go restoreSpecsFromContainerLabels
 */
export function podToStop(
  { uid, name, namespace, containerStatuses }: RuntimePodStatus,
  revision: Pod | undefined,
): Pod {
  if (revision !== undefined) return revision;
  const containers = new Map<string, Container>();
  let grace: number | undefined;
  // The newest instance of a container counts.
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
