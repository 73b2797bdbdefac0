import type { Container, Pod } from '../../../api/types.ts';
import { isRegularInit } from '../../../api/values/sidecars.ts';
import { type BitMask, bitMask } from '../topology-manager/bit-mask.ts';
import type { Reusable } from './memory-hints.ts';
import type { MemoryBlock } from './memory-state.ts';

/**
 * Memory that the init containers of a pod leave to its later containers. It is kept apart from the state: it outlives
 * the init container, until another pod is given memory. Beyond the kubelet, it ends with the pod's last assignment,
 * because a pod may be admitted again here. kubelet: memorymanager/policy_static.go initContainersReusableMemory
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
   * Called when a container was given memory, and when it is allocated again. Other pods lose theirs. kubelet:
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

  /** Called when the last assignment of a pod was removed. */
  forget(podUID: string): void {
    if (this.podUID === podUID) this.bytes = new Map();
  }
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
