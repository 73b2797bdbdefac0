import { systemClock } from '../../../src/clock.ts';
import { GenericPleg } from '../../../src/engine/pleg/generic-pleg.ts';
import { PodCache } from '../../../src/engine/pleg/pod-cache.ts';
import type { RuntimePod } from '../../../src/engine/container/runtime-pod.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { tableAdapter } from '../table-adapter.ts';

interface Step {
  pods: {
    uid: string;
    sandboxes: { id: string; state: 'ready' | 'notReady' }[];
    containers: { id: string; name: string; state: 'created' | 'running' | 'exited' | 'unknown' }[];
  }[];
  listFails?: boolean;
  statusFails?: string[];
}
interface StepOut {
  events: Record<string, { id: string; type: string }[]>;
  inspected: string[];
}

export const plegEvents = tableAdapter<{ steps: Step[] }>('pleg-events', async ({ steps }) => {
  let step: Step | undefined;
  let seen: StepOut = { events: {}, inspected: [] };
  const cache = new PodCache();
  const pleg = new GenericPleg({
    cache,
    clock: systemClock,
    logger: silentLogger,
    runtime: {
      getPods: () =>
        step?.listFails === true ? Promise.reject(new Error('made to fail')) : Promise.resolve(toRuntimePods(step)),
      getPodStatus: (uid) => {
        seen.inspected.push(uid);
        if (step?.statusFails?.includes(uid) === true) return Promise.reject(new Error('made to fail'));
        return Promise.resolve(cache.get(uid));
      },
      getContainerStatus: () => Promise.resolve(undefined),
    },
    onEvents: (events) => {
      for (const { podUID, id, type } of events) (seen.events[podUID] ??= []).push({ id, type });
    },
  });
  const results: StepOut[] = [];
  for (step of steps) {
    seen = { events: {}, inspected: [] };
    await pleg.relist(new AbortController().signal);
    seen.inspected.sort();
    results.push(seen);
  }
  return { steps: results };
});

function toRuntimePods(step: Step | undefined): RuntimePod[] {
  return (step?.pods ?? []).map(({ uid, sandboxes, containers }) => ({
    uid,
    name: uid,
    namespace: 'default',
    createdAt: 0,
    sandboxes: sandboxes.map(({ id, state }) => ({
      id,
      createdAt: 0,
      state: state === 'ready' ? ('ready' as const) : ('notready' as const),
    })),
    containers: containers.map((container) => ({ ...container, createdAt: 0, sandboxID: '' })),
  }));
}
