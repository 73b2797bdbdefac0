import { textParts } from '../../../src/server/metrics/family.ts';
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

test('a sync that ends after its worker is gone leaves nothing behind', async () => {
  const clock = new FakeClock();
  const counts = new EngineCounts(clock);
  const pod = { uid: 'u', name: 'web', namespace: 'default' };
  counts.happened({ at: 0, type: 'PodAdded', pod, source: 'file' });
  counts.happened({ at: 0, type: 'SyncStarted', pod, state: 'terminating' });
  counts.happened({ at: 0, type: 'WorkerStateChanged', pod, state: 'removed' });
  counts.happened({ at: 0, type: 'SyncFinished', pod, durationMs: 5, nextSyncAt: 0 });
  await clock.advance(3_600_000);
  counts.happened({ at: 0, type: 'PodAdded', pod, source: 'file' });
  counts.happened({ at: 0, type: 'PodStatusChanged', pod, phase: 'Running', ready: true });
  const samples = counts.families().flatMap((family) => [...family.samples]);
  const of = (name: string): unknown => samples.filter(({ metricName }) => metricName === name);
  const restarted = counts.families().find(({ name }) => name === 'kubelet_restarted_pods_total');
  expect({
    restarted: restarted?.samples,
    start: of('kubelet_pod_start_duration_seconds_sum'),
    work: of('kubelet_pod_worker_duration_seconds_sum'),
  }).toEqual({
    restarted: [{ labels: { static: 'true' }, value: 0 }],
    start: [{ metricName: 'kubelet_pod_start_duration_seconds_sum', labels: {}, value: 0 }],
    work: [{ metricName: 'kubelet_pod_worker_duration_seconds_sum', labels: { operation_type: 'kill' }, value: 0.005 }],
  });
});

test('pods with user namespaces, and exits of containers by type, code and reason', () => {
  const counts = new EngineCounts(new FakeClock());
  const sandbox = (mode: string): object => ({
    config: { linux: { securityContext: { namespaceOptions: { usernsOptions: { mode } } } } },
  });
  const call = { method: 'runPodSandbox', durationMs: 1 };
  counts.called({ ...call, request: sandbox('POD'), failed: false });
  counts.called({ ...call, request: sandbox('POD'), failed: true });
  counts.called({ ...call, request: sandbox('NODE'), failed: true });
  counts.containerTerminated('init_container', { exitCode: 0, reason: '' });
  counts.containerTerminated('container', { exitCode: 137, reason: 'OOMKilled' });
  counts.containerTerminated('container', { exitCode: 1, reason: '' });
  const page = Buffer.concat([...textParts(counts.families())].map((part) => Buffer.from(part))).toString();
  expect(page.split('\n').filter((line) => /^kubelet_(?:started_user|terminated)/.test(line))).toEqual([
    'kubelet_started_user_namespaced_pods_errors_total 1',
    'kubelet_started_user_namespaced_pods_total 2',
    'kubelet_terminated_containers_total{container_type="init_container",exit_code="0",reason="Completed"} 1',
    'kubelet_terminated_containers_total{container_type="container",exit_code="137",reason="OOMKilled"} 1',
    'kubelet_terminated_containers_total{container_type="container",exit_code="1",reason="Error"} 1',
  ]);
});
