import { join } from 'node:path';
import { podsCgroupOf } from '../container-manager/cgroup-settings.ts';
import { ContainerExits } from '../container/container-exits.ts';
import type { KubeletBase } from './kubelet-deps.ts';
import { RuntimePods } from '../kuberuntime/runtime-pods.ts';
import { oomContainers } from '../oom/find-oom-container.ts';
import { MemoryEvents } from '../oom/memory-events.ts';
import { OOMWatcher } from '../oom/oom-watcher.ts';
import { maxTerminationMessageBytes } from '../redaction/redactor.ts';
import { EventWatch } from '../pleg/event-watch.ts';
import { GenericPleg } from '../pleg/generic-pleg.ts';
import { PodCache } from '../pleg/pod-cache.ts';
import type { PodManager } from '../pod-start/pod-manager.ts';
import { RuntimeState } from '../sync-loop/runtime-state.ts';

export type RuntimeWatch = ReturnType<typeof newRuntimeWatch>;

/** Creates the components that notice changes in the runtime and its containers. They only read. */
export function newRuntimeWatch(base: KubeletBase, { podManager }: { podManager: PodManager }) {
  const { clock, emit, events, inputs, logger, meter, node, redactor, runtime, stopped } = base;
  const plegLogger = logger.child({ component: 'pleg' });
  const cache = new PodCache();
  const exits = new ContainerExits();
  const runtimePods = new RuntimePods({
    runtime,
    // Redacts secrets here, before the status truncates the message, possibly in the middle of a secret.
    readTerminationMessage: async (status) =>
      redactor.text(await base.readTerminationMessage(status), maxTerminationMessageBytes),
    exits,
    withStopSignals: node.featureGates.ContainerStopSignals,
  });
  const pleg = new GenericPleg({
    runtime: runtimePods,
    cache,
    clock,
    logger: plegLogger,
    meter,
    onEvents: (events, status) => {
      if (events.length > 0) inputs.push({ type: 'pleg', events, status });
    },
  });
  const oomWatcher = new OOMWatcher({
    ...oomContainers({
      listedPod: (uid) => pleg.pod(uid),
      declaredPod: (uid) => podManager.get(uid),
      listedPodUIDOf: (id) => pleg.podUIDOf(id),
      askPodUIDOf: (id) => runtimePods.podUIDOf(id, stopped),
      askStatus: (id) => runtimePods.getContainerStatus(id, { signal: stopped }),
    }),
    openKernelLog: base.openKernelLog,
    clock,
    emit,
    logger: logger.child({ component: 'oom' }),
  });
  events.subscribe((event) => {
    void oomWatcher.containerDied(event, stopped);
  });
  const { unifiedCgroups } = base;
  const memoryEvents =
    unifiedCgroups === undefined || !node.cgroupsPerQOS
      ? undefined
      : new MemoryEvents({
          folder: join(unifiedCgroups, podsCgroupOf(node)),
          onKill: (podUID, containerIDs) => {
            void oomWatcher.killedInPod(podUID, containerIDs, stopped);
          },
          clock,
        });
  const eventWatch = new EventWatch({
    streams: base.eventStreams,
    pleg,
    exits,
    podUIDOf: (id, signal) => runtimePods.podUIDOf(id, signal),
    meter,
    onLost: () => {
      runtimeState.checkNow();
    },
    onOutOfMemory: (id) => {
      void oomWatcher.killedIn(id, stopped);
    },
    clock,
    logger: plegLogger,
  });
  const runtimeState: RuntimeState = new RuntimeState({
    runtime,
    clock,
    emit,
    isFollowed: () => eventWatch.live !== undefined,
    plegUnhealthyBecause: () => pleg.unhealthyBecause(),
    findReadOnlyDisk: () => base.findReadOnlyDisk(),
  });
  return { cache, runtimePods, pleg, oomWatcher, memoryEvents, eventWatch, runtimeState };
}
