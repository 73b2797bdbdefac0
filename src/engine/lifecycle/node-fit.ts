import { podRequests, type ResourceTotals, toTotals } from '../../api/values/resource-totals.ts';
import { quantityMilliValue, quantityValue, zeroQuantity } from '../../api/values/quantity.ts';
import type { Pod, ResourceList } from '../../api/types.ts';

/** A resource that is insufficient on the node. Amounts are whole numbers; cpu is in thousandths. */
export interface InsufficientResource {
  resource: string;
  requested: bigint;
  used: bigint;
  capacity: bigint;
}

/**
 * Resources that are insufficient for the pod, given the others. A pod without requests counts only as one pod.
 * kubelet: scheduler/framework/plugins/noderesources/fit.go fitsRequest
 */
export function insufficientResources(
  pod: Pod,
  others: readonly Pod[],
  allocatable: ResourceList,
): InsufficientResource[] {
  const capacities = toTotals(allocatable);
  const used = others.map(podRequests);
  const requests = podRequests(pod);
  const wanted = [...requests.keys()].filter(
    (resource) =>
      // Ignores extended resources that the node does not have, because they belong to a cluster or a device plugin.
      (!isExtendedResource(resource) || capacities.has(resource)) && amountOf(requests, resource) > 0n,
  );
  return ['pods', ...wanted.toSorted(inKubeletsOrder)]
    .map((resource) => ({
      resource,
      requested: amountOf(requests, resource),
      used: used.reduce((sum, totals) => sum + amountOf(totals, resource), 0n),
      capacity: resource === 'pods' ? quantityOf(capacities, resource) : amountOf(capacities, resource),
    }))
    .filter(({ requested, used: taken, capacity }) => requested > capacity - taken);
}

/**
 * The pod's request of a resource. For the resource `pods` it is 1. kubelet: pkg/api/v1/resource/helpers.go
 * GetResourceRequest
 */
export function amountOf(totals: ResourceTotals, resource: string): bigint {
  if (resource === 'pods') return 1n;
  if (resource === 'cpu') return quantityMilliValue(totals.get(resource) ?? zeroQuantity);
  return quantityOf(totals, resource);
}

/** The kubelet's message, which counts cpu in thousandths without a unit. */
export function describeInsufficient({ resource, requested, used, capacity }: InsufficientResource): string {
  return `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;
}

/** For example `it requests 1.5 cpu, and other pods hold 1 of the 2 of this node`. */
export function insufficientDetails({ resource, requested, used, capacity }: InsufficientResource): string {
  if (resource === 'pods') return `the node accepts ${capacity} pods, and there are ${used}`;
  const amount = (value: bigint): string => amountText(resource, value);
  return `it requests ${amount(requested)} ${resource}, and other pods hold ${amount(used)} of the ${amount(capacity)} of this node`;
}

function amountText(resource: string, amount: bigint): string {
  if (resource === 'cpu') return String(Number(amount) / 1000);
  const isBytes = resource === 'memory' || resource === 'ephemeral-storage' || resource.startsWith('hugepages-');
  return isBytes ? `${Math.round(Number(amount) / 2 ** 20)}Mi` : String(amount);
}

function quantityOf(totals: ResourceTotals, resource: string): bigint {
  return quantityValue(totals.get(resource) ?? zeroQuantity);
}

const firstResources = ['cpu', 'memory', 'ephemeral-storage'];

function inKubeletsOrder(a: string, b: string): number {
  return rank(a) - rank(b);
}

function rank(resource: string): number {
  const index = firstResources.indexOf(resource);
  return index < 0 ? firstResources.length : index;
}

/** kubelet: pkg/apis/core/v1/helper/helpers.go IsExtendedResourceName */
function isExtendedResource(resource: string): boolean {
  return resource.includes('/') && !resource.includes('kubernetes.io/') && !resource.startsWith('requests.');
}
