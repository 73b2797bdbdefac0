import { queryObjects, getHeapStatistics } from 'node:v8';

/** Bytes of the JavaScript objects that are alive. Counting objects collects all garbage first. */
export function usedHeapBytes(): number {
  queryObjects(Object, { format: 'count' });
  return getHeapStatistics().used_heap_size;
}
