/**
 * Code of src/ that no program runs yet, by the work that will wire it. `knip --production` reports all other code that
 * only tests reach. Delete a line once its work is done.
 */

// Node-pressure eviction
export { parseEvictionThresholds } from '../src/api/values/eviction-thresholds.ts';
export { MemoryWatch, nearPeriodsMs } from '../src/engine/eviction/memory-watch.ts';
export { EvictionManager } from '../src/engine/eviction/eviction-manager.ts';
export { unusedImages } from '../src/engine/images/image-gc.ts';

// Resource managers: reserved CPUs and memory
export { DiskStateFile, startWithStateFile } from '../src/engine/container-manager/checkpoint/disk-state-file.ts';
export { CPUReconciler } from '../src/engine/container-manager/cpu-manager/cpu-reconciler.ts';
export { discoverMachine } from '../src/engine/container-manager/cpu-topology/discover-machine.ts';
export { discoverMemory } from '../src/engine/container-manager/memory-manager/discover-memory.ts';
export { ResourceManagers } from '../src/engine/container-manager/resource-managers/resource-managers.ts';
export { nodeAllocatableCgroup } from '../src/engine/container-manager/cgroup-names.ts';
export { nodeAllocatableReservation } from '../src/engine/container-manager/node-allocatable.ts';

// Nothing planned: the recorded table of names needs it
export { checkDNS1035Label } from '../src/api/values/names.ts';
