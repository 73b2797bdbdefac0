import { queryObjects, getHeapStatistics } from 'node:v8';

/** Returns the bytes of the JavaScript objects that are alive. Counting objects first collects all garbage. */
export function usedHeapBytes(): number {
  queryObjects(Object, { format: 'count' });
  return getHeapStatistics().used_heap_size;
}
