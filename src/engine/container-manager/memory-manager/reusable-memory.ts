import type { Container, Pod } from '../../../api/types.ts';
import { isRegularInit } from '../../../api/values/sidecars.ts';
import { type BitMask, bitMask } from '../topology-manager/bit-mask.ts';
import type { Reusable } from './memory-hints.ts';
import type { MemoryBlock } from './memory-state.ts';

/**
 * Memory that later containers of a pod can reuse from its init containers. It is separate from the state: it stays
 * after the init container exits, until another pod gets memory. Unlike the kubelet, the agent drops it with the pod's
 * last assignment, because here a pod may be admitted again. kubelet: memorymanager/policy_static.go
 * initContainersReusableMemory
 */
export class ReusableMemory {
  private podUID: string | undefined;
  /** Bytes by affinity, then by type. */
  private bytes = new Map<BitMask, Map<string, bigint>>();

  /** kubelet: policy_static.go getPodReusableMemory */
  of({ metadata }: Pod): Reusable {
    const bytes = this.podUID === metadata.uid ? this.bytes : undefined;
    return (nodes, type) => bytes?.get(nodes)?.get(type) ?? 0n;
  }

  /**
   * Call it when a container gets memory, and when it is allocated again. Discards the memory of other pods. kubelet:
   * policy_static.go updatePodReusableMemory
   */
  update(pod: Pod, container: Container, blocks: readonly MemoryBlock[]): void {
    if (this.podUID !== pod.metadata.uid) this.bytes = new Map();
    this.podUID = pod.metadata.uid;
    const isInit = isRegularInit(pod.spec, container.name);
    for (const { numaAffinity, type, size } of blocks) {
      const nodes = bitMask(numaAffinity);
      const ofNodes = this.bytes.get(nodes) ?? new Map<string, bigint>();
      const before = ofNodes.get(type) ?? 0n;
      this.bytes.set(nodes, ofNodes.set(type, isInit ? larger(before, size) : larger(before - size, 0n)));
    }
  }

  /** Call it when the last assignment of a pod is removed. */
  dropPod(podUID: string): void {
    if (this.podUID === podUID) this.bytes = new Map();
  }
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
