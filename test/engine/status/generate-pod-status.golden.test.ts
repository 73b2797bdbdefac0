import { expect, test } from 'vitest';
import type { Pod, PodStatus } from '../../../src/api/types.ts';
import type { StartFailure } from '../../../src/engine/status/convert-container-statuses.ts';
import { generatePodStatus } from '../../../src/engine/status/generate-pod-status.ts';
import { loadTable } from '../../golden-tables.ts';
import { probeResults, runtimePodStatus, type GoldenProbes, type GoldenRuntime } from '../golden-pods.ts';

type In = GoldenRuntime & {
  pod: Pod;
  probes: GoldenProbes;
  startFailures: Record<string, StartFailure>;
  previousStatus: PodStatus | null;
  podIsTerminal: boolean;
};

/** What the table leaves out: times that depend on the clock, and messages where it has none. */
const leftOut = ['message', 'lastTransitionTime', 'startTime', 'volumeMounts'];

function asFarAsRecorded(actual: unknown, recorded: unknown): unknown {
  if (Array.isArray(actual)) {
    return actual.map((item: unknown, i) => asFarAsRecorded(item, Array.isArray(recorded) ? recorded[i] : undefined));
  }
  if (typeof actual !== 'object' || actual === null) return actual;
  const known = new Map(typeof recorded === 'object' && recorded !== null ? Object.entries(recorded) : []);
  const kept = Object.entries(actual).filter(([key]) => known.has(key) || !leftOut.includes(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, asFarAsRecorded(value, known.get(key))]));
}

test.each(loadTable<In, PodStatus>('pod-status'))('pod status, case %#', ({ in: input, out }) => {
  const status = generatePodStatus({
    pod: input.pod,
    podStatus: runtimePodStatus(input.pod, input),
    oldStatus: input.previousStatus ?? undefined,
    probes: probeResults(input.probes),
    startFailures: new Map(Object.entries(input.startFailures)),
    podIsTerminal: input.podIsTerminal,
    now: Date.parse('2024-06-01T10:20:00Z'),
    runtimeName: 'containerd',
  });
  expect(asFarAsRecorded(status, out)).toEqual(out);
});
