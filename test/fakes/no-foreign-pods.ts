import type { RuntimeService } from '../../src/cri/runtime-service.ts';
import type { ForeignPods } from '../../src/engine/kuberuntime/owned-runtime.ts';

/** For a runtime that only one root-dir uses. */
export const noForeignPods = (runtime: RuntimeService): ForeignPods => ({
  holderOf: () => undefined,
  awaitFreeing: () => undefined,
  onFreed: () => undefined,
  listAllContainers: runtime.listContainers,
});
