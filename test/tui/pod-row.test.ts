import { expect, test } from 'vitest';
import type { PodSnapshot, WorkerSnapshot } from '../../src/engine/view/snapshot.ts';
import { detailsLines } from '../../src/tui/details-lines.ts';
import { podRow } from '../../src/tui/pod-row.ts';
import { initialViewState, reduce, selectedPod, visibleEvents } from '../../src/tui/view-state.ts';
import { makeEntry, makeSnapshot, noon, refOf } from './make-snapshot.ts';

const waiting = makeEntry('web', { containerState: { waiting: { reason: 'ContainerCreating' } } });
const pull = { container: 'main', image: 'busybox:1.36', receivedBytes: 12_345_678, totalBytes: 17_400_000 };

const rowOf = (entry: PodSnapshot): ReturnType<typeof podRow> => podRow(entry, { now: noon, node: makeSnapshot() });

test('a row has the state of the worker, a sync in flight, an update that waits, and the next sync', () => {
  const cells = (worker: Partial<WorkerSnapshot>): string[] => {
    const row = rowOf(makeEntry('web', { worker }));
    return [row.worker.text, row.lastSync.text, row.next.text];
  };
  expect([
    cells({}),
    cells({ working: true }),
    cells({ working: true, pending: true, nextSyncAt: noon }),
    cells({ lastSyncError: 'no such image' }),
  ]).toEqual([
    ['sync', '12s ago, 34ms', '50s'],
    ['sync*', '12s ago, 34ms', '50s'],
    ['sync*+', '12s ago, 34ms', 'now'],
    ['sync', '12s ago: no such image', '50s'],
  ]);
});

test('a row has the number of restarts, and how and when the last one ended', () => {
  const finishedAt = new Date(noon - 30_000).toISOString();
  const lastState = { terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt } };
  const { restarts, restartCount } = rowOf(makeEntry('web', { container: { restartCount: 3, lastState } }));
  expect([restarts.text, restartCount.text]).toEqual(['3 (OOMKilled, 30s ago)', '3']);
});

test('the details have the environment and the mounts of each container', () => {
  const entry = makeEntry('web');
  const [container] = entry.pod.spec.containers;
  const env = [
    { name: 'MODE', value: 'fast' },
    { name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'api' } } },
  ];
  const main = {
    ...(container ?? { name: 'main' }),
    env,
    envFrom: [{ configMapRef: { name: 'settings' } }],
    volumeMounts: [{ name: 'data', mountPath: '/data', subPath: 'a', readOnly: true }],
  };
  const pod = { ...entry.pod, spec: { ...entry.pod.spec, containers: [main] } };
  const lines = detailsLines({ ...entry, pod }, { now: noon, snapshot: makeSnapshot() }).map(({ spans }) =>
    spans.map(({ text }) => text).join(''),
  );
  expect(lines.slice(lines.indexOf('ENVIRONMENT AND MOUNTS OF main'))).toEqual([
    'ENVIRONMENT AND MOUNTS OF main',
    'env from    * ConfigMap settings',
    'env         MODE=fast',
    'env         KEY from Secret keys, key api',
    'mount       /data from data/a, read-only',
  ]);
});

test('a pod whose image is being pulled shows a bar', () => {
  expect(podRow({ ...waiting, pulls: [pull] }, { now: noon, node: makeSnapshot() }).status).toEqual({
    text: 'Pulling ███████░░░ 70% 12.3/17.4 MB',
    color: 'cyan',
  });
});

test('a pull without a known end shows what has come', () => {
  const endless = { container: 'main', image: 'busybox:1.36', receivedBytes: 12_345_678 };
  expect(podRow({ ...waiting, pulls: [endless] }, { now: noon, node: makeSnapshot() }).status.text).toBe(
    'Pulling 12.3 MB',
  );
});

test('the details have a line for each pull', () => {
  const entry = { ...waiting, pulls: [pull, { ...pull, container: 'side', receivedBytes: 17_400_000 }] };
  const lines = detailsLines(entry, { now: noon, snapshot: makeSnapshot() }).map(({ spans }) =>
    spans.map(({ text }) => text).join(''),
  );
  expect(lines.filter((line) => line.startsWith('Pulling'))).toEqual([
    'Pulling     main: ███████░░░ 70% 12.3/17.4 MB',
    'Pulling     side: ██████████ 100% 17.4/17.4 MB',
  ]);
});

test('the bar disappears with the pull, and its progress is not in the events pane', () => {
  const { container: containerName, ...figures } = pull;
  const progressed = { at: noon, type: 'PullProgressed', pod: refOf('web'), containerName, ...figures } as const;
  const first = initialViewState(makeSnapshot([waiting]), noon, { columns: 80, rows: 24 });
  const pulling = reduce(first, {
    type: 'refreshed',
    snapshot: makeSnapshot([{ ...waiting, pulls: [pull] }]),
    events: [progressed],
    now: noon,
  });
  expect(selectedPod(pulling)?.pulls).toEqual([pull]);
  expect(visibleEvents(pulling)).toEqual([]);
  const ended = reduce(pulling, { type: 'refreshed', snapshot: makeSnapshot([waiting]), events: [], now: noon });
  const [entry = waiting] = ended.snapshot.pods;
  expect(podRow(entry, { now: noon, node: makeSnapshot() }).status.text).toBe('ContainerCreating');
});
