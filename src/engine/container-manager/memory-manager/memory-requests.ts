import type { Container, Pod } from '../../../api/types.ts';
import { hasPodLevelResources } from '../../../api/values/pod-level-resources.ts';
import { podQOSClass } from '../../../api/values/qos.ts';
import { quantityAsInt64 } from '../../../api/values/quantity.ts';
import { isSidecar } from '../../../api/values/sidecars.ts';
import { isMemoryType } from './reserved-memory.ts';

/** True if the pod's containers get memory on certain nodes: Guaranteed, and not by pod-level resources. */
export function isPinned(pod: Pod): boolean {
  return podQOSClass(pod) === 'Guaranteed' && !hasPodLevelResources(pod.spec);
}

/** Bytes by type of memory. */
export type MemoryRequests = ReadonlyMap<string, bigint>;

/**
 * Memory and huge pages that a container requests. Throws an `Error` if a request is not a whole number of bytes.
 * kubelet: memorymanager/policy_static.go getRequestedResources
 */
export function containerMemoryRequests({ resources }: Container): MemoryRequests {
  const requests = new Map<string, bigint>();
  for (const [type, text] of Object.entries(resources?.requests ?? {})) {
    if (!isMemoryType(type)) continue;
    const bytes = quantityAsInt64(text);
    if (bytes === undefined) throw new Error('[memorymanager] failed to represent quantity as int64');
    requests.set(type, bytes);
  }
  return requests;
}

/**
 * The maximum that the containers of a pod need at the same time. Throws like `containerMemoryRequests`. kubelet:
 * memorymanager/policy_static.go getPodRequestedResources
 */
export function podMemoryRequests({ spec }: Pod): MemoryRequests {
  const whileStarting = new Map<string, bigint>();
  const sidecars = new Map<string, bigint>();
  for (const container of spec.initContainers ?? []) {
    for (const [type, bytes] of containerMemoryRequests(container)) {
      const together = (sidecars.get(type) ?? 0n) + bytes;
      if (isSidecar(container)) sidecars.set(type, together);
      whileStarting.set(type, max(whileStarting.get(type) ?? 0n, together));
    }
  }
  const regular = new Map<string, bigint>();
  for (const container of spec.containers) {
    for (const [type, bytes] of containerMemoryRequests(container))
      regular.set(type, (regular.get(type) ?? 0n) + bytes);
  }
  return new Map(
    [...regular].map(([type, bytes]) => [type, max(bytes + (sidecars.get(type) ?? 0n), whileStarting.get(type) ?? 0n)]),
  );
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
