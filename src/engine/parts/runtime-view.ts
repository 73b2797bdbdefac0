import { RuntimePods } from '../kuberuntime/runtime-pods.ts';
import { ContainerEnds } from '../container/container-ends.ts';
import { EventWatch } from '../pleg/event-watch.ts';
import { GenericPleg } from '../pleg/generic-pleg.ts';
import { PodCache } from '../pleg/pod-cache.ts';
import { maxTerminationMessageBytes } from '../outgoing/outgoing-text.ts';
import { RuntimeState } from '../runtime-state.ts';
import type { Foundation } from './foundation.ts';
import type { KubeletDeps } from './kubelet-deps.ts';

/** How the state of the runtime is known. */
export interface RuntimeView {
  runtimePods: RuntimePods;
  cache: PodCache;
  pleg: GenericPleg;
  eventWatch: EventWatch;
  runtimeState: RuntimeState;
}

export function buildRuntimeView(deps: KubeletDeps, { inputs, outgoing, events: { emit } }: Foundation): RuntimeView {
  const { clock, runtime, logger } = deps;
  const cache = new PodCache();
  const ends = new ContainerEnds();
  const runtimePods = new RuntimePods({
    runtime,
    // Here, before a status of many containers cuts it in the middle of a value.
    readTerminationMessage: async (status) =>
      outgoing.text(await deps.readTerminationMessage(status), maxTerminationMessageBytes),
    ends,
  });
  const pleg = new GenericPleg({
    runtime: runtimePods,
    cache,
    clock,
    logger: logger.child({ component: 'pleg' }),
    onEvents: (events, status) => {
      if (events.length > 0) inputs.push({ type: 'pleg', events, status });
    },
  });
  const eventWatch = new EventWatch({
    streams: deps.eventStreams,
    pleg,
    ends,
    podUIDOf: (id, signal) => runtimePods.podUIDOf(id, signal),
    clock,
    logger: logger.child({ component: 'pleg' }),
  });
  const runtimeState = new RuntimeState({ runtime, clock, emit, plegUnhealthyBecause: () => pleg.unhealthyBecause() });
  return { runtimePods, cache, pleg, eventWatch, runtimeState };
}
