import type { Pod } from '../../../src/api/types.ts';
import { remainingGracePeriodSeconds } from '../../../src/engine/kuberuntime/actions/termination-grace-period.ts';
import { terminationOrder } from '../../../src/engine/kuberuntime/kill-pod.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  pod: Pod;
  running: string[];
  terminationGraceSeconds: number;
  stopMillis: Record<string, number>;
}
type Out = Record<string, { startMs: number; gracePeriodSeconds: number }>;

/** Plays the stop of all containers on paper. */
export const sidecarTerminationOrder = tableAdapter<In>(
  'sidecar-termination-order',
  ({ pod, running, terminationGraceSeconds, stopMillis }) => {
    const order = terminationOrder(pod, new Set(running));
    const out: Out = {};
    const endOf = (name: string): number => {
      const { startMs, gracePeriodSeconds } = stop(name);
      return startMs + Math.min(stopMillis[name] ?? 0, gracePeriodSeconds * 1000);
    };
    const stop = (name: string): Out[string] => {
      const turn = Math.max(0, ...(order.get(name) ?? []).map(endOf));
      const startMs = Math.min(turn, terminationGraceSeconds * 1000);
      return (out[name] ??= {
        startMs,
        gracePeriodSeconds: remainingGracePeriodSeconds(terminationGraceSeconds, startMs),
      });
    };
    running.forEach(stop);
    return out;
  },
);
