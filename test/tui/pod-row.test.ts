import { expect, test } from 'vitest';
import { detailsLines } from '../../src/tui/details-lines.ts';
import { podRow } from '../../src/tui/pod-row.ts';
import { initialViewState, reduce, selectedPod, visibleEvents } from '../../src/tui/view-state.ts';
import { makeEntry, makeSnapshot, noon, refOf } from './make-snapshot.ts';

const waiting = makeEntry('web', { containerState: { waiting: { reason: 'ContainerCreating' } } });
const pull = { container: 'main', image: 'busybox:1.36', receivedBytes: 12_345_678, totalBytes: 17_400_000 };

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

test('the bar goes with the pull, and its progress is no news in the events pane', () => {
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
