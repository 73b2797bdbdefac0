import { expect, test } from 'vitest';
import type { ContainerState, ContainerStatus } from '../../../src/api/types.ts';
import { RunView } from '../../../src/node/run-once/run-view.ts';
import { makeAPIContainerStatus } from '../../builders/pods.ts';
import { FakeView } from '../../tui/fake-terminal.ts';
import { makeEntry, makeSnapshot, refOf } from '../../tui/make-snapshot.ts';

const runs: ContainerState = { running: {} };
/** The end of an instance. Without an id, of one that was lost. */
const ended = (id?: string): ContainerState => ({
  terminated: { exitCode: 255, ...(id !== undefined && { containerID: id }) },
});
const backOff: ContainerState = { waiting: { reason: 'CrashLoopBackOff' } };

/** A status of the container, whose instances are `a`, `b`, `c` and `d`. */
const at = (
  containerID: string,
  restartCount: number,
  state: ContainerState,
  lastState: ContainerState = {},
): ContainerStatus => makeAPIContainerStatus({ name: 'main', containerID, restartCount, state, lastState });

/** Statuses of the container, one after the other, as a run sees the last one. */
function seen(statuses: readonly ContainerStatus[]): ContainerStatus | undefined {
  const view = new FakeView(makeSnapshot([makeEntry('web')]));
  const run = new RunView(view);
  for (const status of statuses) {
    const entry = makeEntry('web');
    view.current = makeSnapshot([
      { ...entry, pod: { ...entry.pod, status: { phase: 'Running', containerStatuses: [status] } } },
    ]);
    view.emit({ at: 0, type: 'PodStatusChanged', pod: refOf('web'), phase: 'Running', ready: false });
  }
  return run.snapshot().pods[0]?.pod.status?.containerStatuses?.[0];
}

test.each<[string, ContainerStatus[], ContainerStatus]>([
  ['ended before', [at('b', 1, ended('b'), ended('a'))], at('b', 2, { waiting: {} })],
  ['waits after an end before', [at('b', 1, ended('b')), at('b', 1, backOff, ended('b'))], at('b', 2, backOff)],
  ['runs again', [at('b', 1, ended('b')), at('c', 2, runs, ended('b'))], at('c', 2, runs)],
  ['runs, and ended before', [at('b', 1, runs, ended('a'))], at('b', 1, runs)],
  ['was lost before', [at('b', 2, ended()), at('c', 2, runs, ended())], at('c', 2, runs)],
  ['was removed before', [at('', 2, backOff, ended())], at('', 3, backOff)],
  [
    'was started again and was lost',
    [at('b', 1, ended('b')), at('c', 2, runs, ended('b')), at('c', 3, ended(), ended('b'))],
    at('c', 3, ended()),
  ],
  [
    'was started again and ended twice',
    [at('b', 1, ended('b')), at('c', 2, ended('c'), ended('b')), at('d', 3, ended('d'), ended('c'))],
    at('d', 3, ended('d'), ended('c')),
  ],
  ['ran before and ended', [at('b', 1, runs, ended('a')), at('b', 1, ended('b'), ended('a'))], at('b', 1, ended('b'))],
])('a container that %s is shown without the ends from before the run', (_how, statuses, expected) => {
  expect(seen(statuses)).toEqual(expected);
});
