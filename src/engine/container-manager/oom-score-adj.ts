import { podQOSClass } from '../../api/values/qos.ts';
import type { Container, Pod } from '../../api/types.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import { podLevelAmounts } from '../../api/values/pod-level-resources.ts';
import { isNodeCriticalPod } from '../../api/values/critical-pod.ts';
import { memoryBytes } from '../../api/values/resource-amounts.ts';
import { containerTotals, toTotals } from '../../api/values/resource-totals.ts';

const guaranteed = -997;
const bestEffort = 1000;

/**
 * Order in which the kernel kills containers when memory runs out: 1000 first, -997 last. kubelet: qos/policy.go
 * GetContainerOOMScoreAdjust
 */
export function containerOOMScoreAdj(pod: Pod, container: Container, memoryCapacityBytes: bigint): number {
  if (isNodeCriticalPod(pod)) return guaranteed;
  switch (podQOSClass(pod)) {
    case 'Guaranteed':
      return guaranteed;
    case 'BestEffort':
      return bestEffort;
    case 'Burstable':
      return burstableScore(pod, container, memoryCapacityBytes);
  }
}

/**
 * The more memory a container requests, the lower its score. The result is always between those of the other classes.
 */
function burstableScore(pod: Pod, container: Container, memoryCapacityBytes: bigint): number {
  // A request that exceeds all memory overflows as in Go. No node can run this pod.
  const scoreOf = (requestBytes: bigint) =>
    1000 - Number(BigInt.asIntN(64, 1000n * requestBytes) / memoryCapacityBytes);
  const share = unclaimedMemoryShare(pod);
  const own = scoreOf(memoryRequest(container) + share);
  // A sidecar is not killed before the containers that it serves.
  const score = isSidecarOf(pod, container) ? Math.min(own, scoreOf(smallestMemoryRequest(pod) + share)) : own;
  return Math.min(Math.max(score, 1000 + guaranteed), bestEffort - 1);
}

/**
 * Each container's share of the pod-level memory request that no container requests. kubelet: qos/policy.go
 * remainingPodMemReqPerContainer
 */
function unclaimedMemoryShare({ spec }: Pod): bigint {
  const ofPod = memoryBytes(toTotals(podLevelAmounts(spec, 'requests')));
  const unclaimed = ofPod - memoryBytes(containerTotals(spec, 'requests'));
  return unclaimed <= 0n ? 0n : unclaimed / BigInt(initAndRegularContainers(spec).length);
}

function isSidecarOf({ spec }: Pod, container: Container): boolean {
  return (spec.initContainers ?? []).some(({ name }) => name === container.name) && isSidecar(container);
}

function smallestMemoryRequest({ spec }: Pod): bigint {
  const requests = spec.containers.map(memoryRequest);
  return requests.reduce((smallest, request) => (request < smallest ? request : smallest), requests[0] ?? 0n);
}

function memoryRequest({ resources }: Container): bigint {
  return memoryBytes(toTotals(resources?.requests));
}
