import { ownHeap } from '../src/passing-bytes.ts';

/** Bytes of the JavaScript objects that are alive: all garbage is collected before. */
export function usedHeapBytes(): number {
  const heap = ownHeap();
  heap.collect('all');
  return heap.usedBytes();
}
