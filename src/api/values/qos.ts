import type { Pod } from '../types.ts';
import { addQuantities, compareQuantities, type Quantity, toQuantity, zeroQuantity } from './quantity.ts';

export type QOSClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/**
 * The quality of service class of a pod: from its status, even if the manifest set it, else from its resources.
 *
 * kubelet: pkg/apis/core/v1/helper/qos/qos.go GetPodQOS
 */
export function podQOSClass(pod: Pick<Pod, 'spec' | 'status'>): QOSClass {
  return isQOSClass(pod.status?.qosClass) ? pod.status.qosClass : computePodQOSClass(pod);
}

function isQOSClass(text: string | undefined): text is QOSClass {
  return text === 'Guaranteed' || text === 'Burstable' || text === 'BestEffort';
}

/** kubelet: qos.go ComputePodQOS */
function computePodQOSClass(pod: Pick<Pod, 'spec'>): QOSClass {
  const { spec } = pod;
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  // Pod-level resources replace those of all its containers, even if they are empty.
  const claimants = spec.resources === undefined ? containers : [{ resources: spec.resources }];
  const requests = new Map<string, Quantity>();
  const limits = new Map<string, Quantity>();
  let everyContainerIsLimited = true;
  for (const { resources } of claimants) {
    addTo(requests, resources?.requests ?? {});
    const limited = addTo(limits, resources?.limits ?? {});
    everyContainerIsLimited &&= limited === qosResources.length;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const requestsAreLimits =
    requests.size === limits.size &&
    [...requests].every(([name, request]) => compareQuantities(request, limits.get(name) ?? zeroQuantity) === 0);
  return everyContainerIsLimited && requestsAreLimits ? 'Guaranteed' : 'Burstable';
}

const qosResources = ['cpu', 'memory'] as const;

/** Adds the relevant amounts to a total. Returns their number. */
function addTo(total: Map<string, Quantity>, resources: Readonly<Record<string, string>>): number {
  let counted = 0;
  for (const name of qosResources) {
    const quantity = toQuantity(resources[name]);
    if (quantity.nanos <= 0n) continue;
    total.set(name, addQuantities(total.get(name) ?? zeroQuantity, quantity));
    counted++;
  }
  return counted;
}
