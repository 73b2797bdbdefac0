import { expect, test } from 'vitest';
import { EngineCounts } from '../../../src/server/metrics/engine-counts.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

test('a call to the runtime counts under the name of the kubelet', () => {
  const counts = new EngineCounts(new FakeClock());
  const request = { runtimeHandler: 'kata' };
  counts.called({ method: 'runPodSandbox', request, durationMs: 20, failed: true });
  counts.called({ method: 'updateContainerResources', request: {}, durationMs: 1, failed: false });
  const samples = Object.fromEntries(counts.families().map((family) => [family.name, family.samples]));
  expect(samples['kubelet_runtime_operations_total']).toEqual([
    { labels: { operation_type: 'run_podsandbox' }, value: 1 },
    { labels: { operation_type: 'update_container' }, value: 1 },
  ]);
  expect(samples['kubelet_runtime_operations_errors_total']).toEqual([
    { labels: { operation_type: 'run_podsandbox' }, value: 1 },
  ]);
  expect(samples['kubelet_run_podsandbox_errors_total']).toEqual([{ labels: { runtime_handler: 'kata' }, value: 1 }]);
  expect(samples['kubelet_started_pods_errors_total']).toEqual([{ labels: {}, value: 1 }]);
});

test('the series of the probes of a pod end with its worker', () => {
  const counts = new EngineCounts(new FakeClock());
  const pod = { uid: 'u', name: 'web', namespace: 'default' };
  const probe = { container: 'main', probeType: 'Liveness', result: 'successful', durationMs: 5 } as const;
  counts.probed({ ...probe, podUID: pod.uid, pod: pod.name, namespace: pod.namespace });
  expect(counts.probeFamilies().map(({ samples }) => [...samples].length > 0)).toEqual([true, true]);
  counts.happened({ at: 0, type: 'WorkerStateChanged', pod, state: 'removed' });
  expect(counts.probeFamilies().map(({ samples }) => samples)).toEqual([[], []]);
});
