/**
 * Code of src/ that no program runs yet, by the work that will wire it. `knip --production` reports all other code that
 * only tests reach. Delete a line once its work is done.
 */

// Nothing planned: the recorded tables need it
export { nodeAllocatableCgroup } from '../../src/engine/container-manager/cgroup-names.ts';
