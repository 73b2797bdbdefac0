import { describe, expect, test } from 'vitest';
import type { KubeletEvent } from '../../src/engine/view/events.ts';
import type { EngineSnapshot, PodSnapshot } from '../../src/engine/view/snapshot.ts';
import {
  initialViewState,
  maxEvents,
  reduce,
  type ViewAction,
  type ViewState,
  visibleEvents,
  visiblePods,
} from '../../src/tui/view-state.ts';
import { makeDied, makeEntry, makeRecorded, makeSnapshot, noon, refOf } from './make-snapshot.ts';

const problem = { origin: '/manifests/bad.yaml', message: 'Required value', severity: 'error' as const };
const withProblems = (pods: PodSnapshot[]) =>
  makeSnapshot(pods, { sources: [{ source: 'file', where: '/manifests', ready: true, pods: 0, problems: [problem] }] });

function start(snapshot: EngineSnapshot, ...actions: ViewAction[]): ViewState {
  return actions.reduce(reduce, initialViewState(snapshot, noon, { columns: 80, rows: 24 }));
}

function refreshed(snapshot: EngineSnapshot, ...events: KubeletEvent[]): ViewAction {
  return { type: 'refreshed', snapshot, events, now: noon + 1000 };
}

const pods = ['a', 'b', 'c', 'd'].map((name) => makeEntry(name));
const snapshot = makeSnapshot(pods);
const down: ViewAction = { type: 'moved', move: 'down' };
const typed = (text: string): ViewAction => ({ type: 'filterTyped', text });

describe('selection', () => {
  test.each<[title: string, actions: ViewAction[], expected: string | undefined]>([
    ['starts at the first pod', [], 'uid-a'],
    ['goes down', [down, down], 'uid-c'],
    ['goes up', [down, down, { type: 'moved', move: 'up' }], 'uid-b'],
    ['stops at the last pod', [down, down, down, down, down], 'uid-d'],
    ['stops at the first pod', [{ type: 'moved', move: 'pageUp' }], 'uid-a'],
    ['jumps to the last pod', [{ type: 'moved', move: 'last' }], 'uid-d'],
    ['jumps to the first pod', [down, { type: 'moved', move: 'first' }], 'uid-a'],
    ['goes a page down', [{ type: 'moved', move: 'pageDown' }], 'uid-d'],
    ['follows the pod when others come before it', [down, refreshed(makeSnapshot([makeEntry('0'), ...pods]))], 'uid-b'],
    [
      'goes to the pod that took the place of one that is gone',
      [down, refreshed(makeSnapshot(pods.filter(({ pod }) => pod.metadata.name !== 'b')))],
      'uid-c',
    ],
    [
      'goes to the last pod when the last is gone',
      [{ type: 'moved', move: 'last' }, refreshed(makeSnapshot(pods.slice(0, 3)))],
      'uid-c',
    ],
    ['is nothing without pods', [refreshed(makeSnapshot())], undefined],
    ['comes back with the first pod', [refreshed(makeSnapshot()), refreshed(snapshot)], 'uid-a'],
    ['goes to a pod that the filter lets through', [{ type: 'filterOpened' }, typed('/d')], 'uid-d'],
  ])('%s', (_title, actions, expected) => {
    expect(start(snapshot, ...actions).selectedUID).toBe(expected);
  });
});

describe('events', () => {
  test('keeps the newest of them and counts all', () => {
    const events = Array.from({ length: maxEvents + 3 }, (_, index) => makeDied(index));
    const state = start(
      snapshot,
      refreshed(snapshot, ...events.slice(0, 10)),
      refreshed(snapshot, ...events.slice(10)),
    );
    expect([state.events, state.eventCount]).toEqual([events.slice(3), maxEvents + 3]);
  });

  test('leaves out what the pods table shows', () => {
    const sync: KubeletEvent = { at: noon, type: 'SyncFinished', pod: refOf('a'), durationMs: 3, nextSyncAt: noon };
    expect(start(snapshot, refreshed(snapshot, sync, makeDied(1))).events).toEqual([makeDied(1)]);
  });

  const worker: KubeletEvent = { at: noon, type: 'WorkerStateChanged', pod: refOf('db'), state: 'terminating' };
  const news = [makeDied(1), makeRecorded('Pulled', 'Image is there')];
  const all = [...news, worker];
  const next: ViewAction = { type: 'eventKindSwitched' };
  test.each<[title: string, actions: ViewAction[], expected: KubeletEvent[]]>([
    ['shows news at first', [], news],
    ['shows all kinds', [next], all],
    ['shows those of the PLEG', [next, next], [makeDied(1)]],
    ['shows recorded ones', [next, next, next], [makeRecorded('Pulled', 'Image is there')]],
    ['shows those of workers', [next, next, next, next], [worker]],
    ['shows news again', [next, next, next, next, next], news],
    ['shows those that match the filter by pod', [next, typed('default/DB')], [worker]],
    ['shows those that match the filter by text', [typed('pulled image')], [makeRecorded('Pulled', 'Image is there')]],
  ])('%s', (_title, actions, expected) => {
    expect(visibleEvents(start(snapshot, refreshed(snapshot, ...all), ...actions))).toEqual(expected);
  });

  test('begin with what the agent remembers, once', () => {
    const past = [makeRecorded('Pulled', 'Image is there', noon - 2000), makeDied(1, noon - 1000)];
    const known = makeSnapshot([{ ...makeEntry('web'), events: past }]);
    const attached = start(known, refreshed(known, makeDied(2)));
    const late = start(makeSnapshot([]), refreshed(known, ...past, makeDied(2)));
    expect([start(known), attached, late].map(visibleEvents)).toEqual([
      past,
      [...past, makeDied(2)],
      [...past, makeDied(2)],
    ]);
  });

  test('stand still while paused, and follow again', () => {
    const paused = start(
      snapshot,
      refreshed(snapshot, makeDied(1)),
      { type: 'pauseToggled' },
      refreshed(snapshot, makeDied(2)),
    );
    const following = reduce(paused, { type: 'pauseToggled' });
    expect([visibleEvents(paused), visibleEvents(following)]).toEqual([[makeDied(1)], [makeDied(1), makeDied(2)]]);
  });

  test('stand still after scrolling up, until the end is asked for', () => {
    const events = Array.from({ length: 100 }, (_, index) => makeDied(index));
    const scrolled = start(
      snapshot,
      refreshed(snapshot, ...events),
      { type: 'paneSwitched', by: 1 },
      { type: 'moved', move: 'up' },
      { type: 'moved', move: 'up' },
      refreshed(snapshot, makeDied(100)),
    );
    const atEnd = reduce(scrolled, { type: 'moved', move: 'last' });
    expect([scrolled.scroll.events, visibleEvents(scrolled).length]).toEqual([2, 100]);
    expect([atEnd.scroll.events, visibleEvents(atEnd).length]).toEqual([0, 101]);
  });

  test('cannot be scrolled when they all fit', () => {
    const state = start(
      snapshot,
      refreshed(snapshot, ...all),
      { type: 'paneSwitched', by: 1 },
      { type: 'moved', move: 'up' },
    );
    expect([state.scroll.events, state.pausedEvents]).toEqual([0, undefined]);
  });
});

describe('panes', () => {
  const next: ViewAction = { type: 'paneSwitched', by: 1 };
  test.each<[title: string, from: EngineSnapshot, actions: ViewAction[], expected: ViewState['pane']]>([
    ['go from pods to events', snapshot, [next], 'events'],
    ['go back to pods when there are no problems', snapshot, [next, next], 'pods'],
    ['go on to problems when there are some', withProblems(pods), [next, next], 'problems'],
    ['go backwards', withProblems(pods), [{ type: 'paneSwitched', by: -1 }], 'problems'],
    ['leave the problems when they are solved', withProblems(pods), [next, next, refreshed(snapshot)], 'pods'],
  ])('%s', (_title, from, actions, expected) => {
    expect(start(from, ...actions).pane).toBe(expected);
  });
});

describe('overlays', () => {
  const details: ViewAction = { type: 'detailsToggled' };
  const help: ViewAction = { type: 'helpToggled' };
  const closed: ViewAction = { type: 'closed' };
  test.each<[title: string, actions: ViewAction[], expected: ViewState['overlay']]>([
    ['enter opens the details', [details], 'details'],
    ['enter closes the details', [details, details], 'none'],
    ['esc closes the details', [details, closed], 'none'],
    ['? opens and closes the help', [help, help], 'none'],
    ['details close when their pod is gone', [details, refreshed(makeSnapshot(pods.slice(1)))], 'none'],
    ['details stay when another pod is gone', [details, refreshed(makeSnapshot(pods.slice(0, 1)))], 'details'],
    ['there are no details without a pod', [refreshed(makeSnapshot()), details], 'none'],
  ])('%s', (_title, actions, expected) => {
    expect(start(snapshot, ...actions).overlay).toBe(expected);
  });

  test('details scroll no further than their end', () => {
    const long = { ...makeEntry('a'), events: Array.from({ length: 64 }, (_, index) => makeDied(index)) };
    const state = start(makeSnapshot([long]), details, { type: 'moved', move: 'last' });
    expect([state.scroll.details, reduce(state, down).scroll.details]).toEqual([55, 55]);
  });
});

describe('filter', () => {
  const names = (state: ViewState) => visiblePods(state).map(({ pod }) => pod.metadata.name);
  const crashing = makeEntry('e', { containerState: { waiting: { reason: 'CrashLoopBackOff' } } });
  const mixed = makeSnapshot([...pods, crashing]);
  test.each<[title: string, actions: ViewAction[], expected: [string[], editing: boolean]]>([
    ['lets pods through by name', [{ type: 'filterOpened' }, typed('T/b')], [['b'], true]],
    ['lets pods through by status', [{ type: 'filterOpened' }, typed('crash'), { type: 'filterKept' }], [['e'], false]],
    [
      'can be erased',
      [{ type: 'filterOpened' }, typed('zz'), { type: 'filterErased' }, { type: 'filterErased' }],
      [['e', 'a', 'b', 'c', 'd'], true],
    ],
    [
      'is cleared by esc while typing',
      [{ type: 'filterOpened' }, typed('crash'), { type: 'filterCleared' }],
      [['e', 'a', 'b', 'c', 'd'], false],
    ],
    [
      'is cleared by esc later',
      [{ type: 'filterOpened' }, typed('crash'), { type: 'filterKept' }, { type: 'closed' }],
      [['e', 'a', 'b', 'c', 'd'], false],
    ],
  ])('%s', (_title, actions, expected) => {
    const state = start(mixed, ...actions);
    expect([names(state), state.editingFilter]).toEqual(expected);
  });
});
