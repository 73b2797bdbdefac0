import type { Container, Pod } from '../../../api/types.ts';
import { hasPodLevelResources } from '../../../api/values/pod-level-resources.ts';
import { podQOSClass } from '../../../api/values/qos.ts';
import { quantityMilliValue, quantityValue, toQuantity } from '../../../api/values/quantity.ts';
import { isSidecar } from '../../../api/values/sidecars.ts';

/**
 * The number of CPUs that a container gets for itself: its request, if that is a whole number and the pod is
 * Guaranteed. Otherwise 0, and in a pod with pod-level resources. kubelet: cpumanager/policy_static.go guaranteedCPUs
 */
export function requestedCPUs(pod: Pod, { resources }: Container): number {
  if (podQOSClass(pod) !== 'Guaranteed' || hasPodLevelResources(pod.spec)) return 0;
  const request = toQuantity(resources?.requests?.['cpu']);
  const cpus = quantityValue(request);
  return cpus * 1000n === quantityMilliValue(request) ? Number(cpus) : 0;
}

/**
 * The number of exclusive CPUs that a pod needs at the same time. Containers that run together add up; a regular init
 * container uses its CPUs only before them. kubelet: cpumanager/policy_static.go podGuaranteedCPUs
 */
export function podRequestedCPUs(pod: Pod): number {
  let sidecars = 0;
  let duringInit = 0;
  for (const container of pod.spec.initContainers ?? []) {
    const cpus = requestedCPUs(pod, container);
    if (isSidecar(container)) sidecars += cpus;
    else duringInit = Math.max(duringInit, sidecars + cpus);
  }
  const regular = pod.spec.containers.map((container) => requestedCPUs(pod, container));
  return Math.max(
    duringInit,
    regular.reduce((total, cpus) => total + cpus, sidecars),
  );
}
