import type { Pod } from '../../../src/api/types.ts';
import type { DiskLayout } from '../../../src/engine/eviction/disk-layout.ts';
import { EvictionManager } from '../../../src/engine/eviction/eviction-manager.ts';
import type { NodeSummary } from '../../../src/engine/eviction/node-summary.ts';
import { unsetWallClock, recordedNames, type RecordedSettings, thresholdsOf } from '../eviction-record.ts';
import { tableAdapter } from '../table-adapter.ts';

type In = RecordedSettings &
  DiskLayout & {
    pressureTransitionSeconds: number;
    maxPodGracePeriodSeconds: number;
    localStorageCapacityIsolation: boolean;
    pods: Pod[];
    steps: { atSeconds: number; summary: NodeSummary; afterReclaim?: NodeSummary }[];
  };

export const evictionSync = tableAdapter<In>('eviction-sync', async (input) => {
  const gone = new Set<string>();
  let round = { now: 0, summaries: [] as NodeSummary[], evicted: [] as object[], containerGC: 0, imageGC: 0 };
  const manager = new EvictionManager({
    config: {
      thresholds: thresholdsOf(input) ?? [],
      pressureTransitionMs: input.pressureTransitionSeconds * 1000,
      maxPodGracePeriodSeconds: input.maxPodGracePeriodSeconds,
      policy: 'kubelet',
    },
    diskLayout: () => Promise.resolve(input),
    enforcesStorageLimits: input.localStorageCapacityIsolation,
    summary: () => {
      const [summary, ...later] = round.summaries;
      if (later.length > 0) round.summaries = later;
      return summary ? Promise.resolve(summary) : Promise.reject(new Error('The step has no summary'));
    },
    withPods: (summary) => Promise.resolve(summary),
    activePods: () => input.pods.filter(({ metadata }) => !gone.has(metadata.uid)),
    reclaim: (what) => {
      if (what === 'deadContainers') round.containerGC++;
      else round.imageGC++;
      return Promise.resolve();
    },
    onObserved: () => undefined,
    onThresholdMet: () => undefined,
    evict: ({ metadata: { uid } }, { gracePeriodSeconds }) => {
      gone.add(uid);
      round.evicted.push({ uid, gracePeriodSeconds, phase: 'Failed', reason: 'Evicted' });
    },
    clock: { monotonic: () => round.now },
    wallClock: unsetWallClock,
  });
  const steps: object[] = [];
  for (const { atSeconds, summary, afterReclaim = summary } of input.steps) {
    round = { now: atSeconds * 1000, summaries: [summary, afterReclaim], evicted: [], containerGC: 0, imageGC: 0 };
    await manager.synchronize();
    const { evicted, containerGC, imageGC } = round;
    steps.push({
      nodeConditions: manager.nodePressures,
      evicted,
      thresholdsMet: recordedNames(manager.thresholdsMet),
      imageGC,
      containerGC,
    });
  }
  return { steps };
});
