import { computeContainerGC } from '../../../src/engine/gc/container-gc.ts';
import { containerLogSymlinkName } from '../../../src/engine/container/log-paths.ts';
import type { RuntimeContainerState } from '../../../src/engine/container/runtime-pod-status.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  policy: { minAgeSeconds: number; maxPerPodContainer: number; maxContainers: number };
  allSourcesReady: boolean;
  evictTerminatedPods: boolean;
  contentRemoved: string[];
  runtimeRemoved: string[];
  containers: {
    id: string;
    name: string;
    pod: string;
    sandbox: string;
    state: RuntimeContainerState;
    ageSeconds: number;
  }[];
  sandboxes: { id: string; pod: string; state: 'ready' | 'notReady'; ageSeconds: number }[];
  logDirs: string[];
  logSymlinks: { name: string; broken: boolean }[];
}

const now = Date.parse('2024-06-01T10:00:00Z');
const createdAt = ({ ageSeconds }: { ageSeconds: number }): number => now - ageSeconds * 1000;

export const containerGC = tableAdapter<In>('container-gc', ({ policy, logSymlinks, logDirs, ...input }) => {
  const links = logSymlinks.map(({ name }) => name);
  const plan = computeContainerGC({
    ...input,
    policy: { ...policy, minAgeMs: policy.minAgeSeconds * 1000 },
    nowMonotonic: now,
    shouldPodContentBeRemoved: (uid) => input.contentRemoved.includes(uid),
    shouldPodRuntimeBeRemoved: (uid) => input.runtimeRemoved.includes(uid),
    containers: input.containers.map((container) => ({
      ...container,
      podUID: container.pod,
      podSandboxID: container.sandbox,
      createdAtMonotonic: createdAt(container),
    })),
    sandboxes: input.sandboxes.map((sandbox) => ({
      ...sandbox,
      podUID: sandbox.pod,
      state: sandbox.state === 'ready' ? 'ready' : 'notready',
      createdAtMonotonic: createdAt(sandbox),
    })),
    logDirs,
    brokenLogLinks: logSymlinks.filter(({ broken }) => broken).map(({ name }) => name),
  });
  // A container takes its link along. The pods of this table are called as their UIDs.
  const linksOfContainers = plan.containersToRemove.map(({ id, name, podUID }) =>
    containerLogSymlinkName({ name: podUID, namespace: 'default' }, name, id),
  );
  const ids = (items: readonly { id: string }[]): string[] => items.map(({ id }) => id).sort();
  return {
    stoppedContainers: ids(plan.containersToStop),
    removedContainers: ids(plan.containersToRemove),
    removedSandboxes: ids(plan.sandboxesToRemove),
    removedLogDirs: plan.logDirsToRemove.toSorted(),
    removedLogSymlinks: [...linksOfContainers.filter((link) => links.includes(link)), ...plan.logLinksToRemove].sort(),
  };
});
