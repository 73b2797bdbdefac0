import { formatQuantity } from '../../../src/api/values/quantity.ts';
import type { NodeSummary } from '../../../src/engine/eviction/node-summary.ts';
import { signalObservations } from '../../../src/engine/eviction/signal-observations.ts';
import { nodePressures, thresholdsMet } from '../../../src/engine/eviction/thresholds-met.ts';
import { unsetWallClock, recordedNames, type RecordedSettings, thresholdsOf } from '../eviction-record.ts';
import { tableAdapter } from '../table-adapter.ts';

type In = RecordedSettings & { enforceMinReclaim: boolean; summary: NodeSummary };

export const evictionThresholdsMet = tableAdapter<In>(
  'eviction-thresholds-met',
  ({ enforceMinReclaim, summary, ...settings }) => {
    const observations = signalObservations(summary, unsetWallClock);
    const met = thresholdsMet(thresholdsOf(settings) ?? [], observations, { enforceMinReclaim });
    const shown = [...observations].map(([signal, { available, capacity }]) => [
      signal,
      { available: formatQuantity(available), capacity: formatQuantity(capacity) },
    ]);
    return {
      met: recordedNames(met),
      nodeConditions: nodePressures(met),
      observations: Object.fromEntries(shown) as object,
    };
  },
);
