import type { Key } from 'ink';
import { expect, test } from 'vitest';
import { computeKeyCommand, type KeyCommand, splitKeys } from '../../src/tui/key-bindings.ts';
import { initialViewState } from '../../src/tui/view-state.ts';
import { openPage } from '../../src/tui/output-page.ts';
import { makeEntry, makeSnapshot, noon } from './make-snapshot.ts';

const state = initialViewState(makeSnapshot(), noon, { columns: 80, rows: 24 });

test.each<[title: string, input: string, key: Partial<Key>, expected: KeyCommand | undefined]>([
  ['j', 'j', {}, { type: 'moved', move: 'down' }],
  ['arrow up', '', { upArrow: true }, { type: 'moved', move: 'up' }],
  ['page down', '', { pageDown: true }, { type: 'moved', move: 'pageDown' }],
  ['ctrl-u', 'u', { ctrl: true }, { type: 'moved', move: 'pageUp' }],
  ['G', 'G', { shift: true }, { type: 'moved', move: 'last' }],
  ['enter', '\r', { return: true }, { type: 'detailsToggled' }],
  ['tab', '', { tab: true }, { type: 'paneSwitched', by: 1 }],
  ['shift-tab', '', { tab: true, shift: true }, { type: 'paneSwitched', by: -1 }],
  ['e', 'e', {}, { type: 'eventKindSwitched' }],
  ['q', 'q', {}, { type: 'leaveAsked' }],
  ['ctrl-c', 'c', { ctrl: true }, { type: 'leaveAsked' }],
  ['ctrl-z', 'z', { ctrl: true }, { type: 'suspended' }],
  ['a key without a meaning', 'x', {}, undefined],
])('%s has its command', (_title, input, key, expected) => {
  expect(computeKeyCommand(state, { input, key })).toEqual(expected);
});

test.each<[title: string, input: string, key: Partial<Key>, expected: KeyCommand | undefined]>([
  ['q', 'q', {}, { type: 'filterTyped', text: 'q' }],
  ['a wide character', '本', {}, { type: 'filterTyped', text: '本' }],
  ['backspace', '', { backspace: true }, { type: 'filterErased' }],
  ['enter', '\r', { return: true }, { type: 'filterKept' }],
  ['esc', '', { escape: true, meta: true }, { type: 'filterCleared' }],
  ['an arrow', '', { upArrow: true }, undefined],
  ['ctrl-c', 'c', { ctrl: true }, { type: 'leaveAsked' }],
])('%s edits the filter while it is typed', (_title, input, key, expected) => {
  expect(computeKeyCommand({ ...state, editingFilter: true }, { input, key })).toEqual(expected);
});

test.each([
  ['q', 'q', {}],
  ['ctrl-c', 'c', { ctrl: true }],
])('%s leaves at once the screen of an agent that was there before', (_title, input, key) => {
  expect(computeKeyCommand({ ...state, isAttached: true }, { input, key })).toEqual({
    type: 'left',
    leaving: 'detach',
  });
});

test.each<[title: string, input: string, key: Partial<Key>, expected: KeyCommand | undefined]>([
  ['d', 'd', {}, { type: 'left', leaving: 'detach' }],
  ['s', 's', {}, { type: 'left', leaving: 'stop' }],
  ['ctrl-c once more', 'c', { ctrl: true }, { type: 'left', leaving: 'stop' }],
  ['ctrl-s, which stops the output of a terminal', 's', { ctrl: true }, undefined],
  ['esc', '', { escape: true }, { type: 'closed' }],
  ['q once more', 'q', {}, { type: 'closed' }],
  ['enter', '\r', { return: true }, undefined],
  ['y', 'y', {}, undefined],
])('%s answers the question of q', (_title, input, key, expected) => {
  expect(computeKeyCommand({ ...state, overlay: 'leave' }, { input, key })).toEqual(expected);
});

const withPod = initialViewState(makeSnapshot([makeEntry('web')]), noon, { columns: 80, rows: 24 });

test.each<[key: string, words: string]>([
  ['l', 'logs -f --tail 500 default/web'],
  ['L', 'logs -p default/web'],
  ['x', 'explain default/web'],
  ['d', 'describe default/web'],
  ['y', 'ps default/web -o yaml'],
  ['s', 'exec -it default/web -- sh'],
  ['R', 'restart default/web'],
  ['S', 'stop default/web'],
  ['U', 'start default/web'],
  ['T', 'retry default/web'],
])('%s runs %s for the selected pod', (input, words) => {
  const command = { type: 'ran', args: words.split(' '), isConfirmed: false };
  expect([withPod, state].map((at) => computeKeyCommand(at, { input, key: {} }))).toEqual([command, undefined]);
});

test.each<[key: string, expected: KeyCommand]>([
  ['f', { type: 'promptOpened', kind: ':', text: 'port-forward default/web ' }],
  ['F', { type: 'forwardsOpened' }],
  [':', { type: 'promptOpened', kind: ':' }],
  ['/', { type: 'filterOpened' }],
  ['p', { type: 'pauseToggled' }],
  ['i', { type: 'engineToggled' }],
  ['?', { type: 'helpToggled' }],
  ['g', { type: 'moved', move: 'first' }],
  ['k', { type: 'moved', move: 'up' }],
])('%s runs its command from the pods table', (input, expected) => {
  expect(computeKeyCommand(withPod, { input, key: {} })).toEqual(expected);
});

test.each<[key: string, expected: KeyCommand]>([
  ['/', { type: 'promptOpened', kind: '/' }],
  ['n', { type: 'searchedOn', by: 1 }],
  ['N', { type: 'searchedOn', by: -1 }],
  ['&', { type: 'pageChanged', setting: 'onlyMatching' }],
  ['w', { type: 'pageChanged', setting: 'isWrapped' }],
  ['S', { type: 'saved' }],
  ['p', { type: 'ran', args: ['logs', '-p', 'web'], isConfirmed: true }],
  ['t', { type: 'ran', args: ['logs', '--timestamps', '-f', 'web'], isConfirmed: true }],
  ['G', { type: 'moved', move: 'last' }],
])('%s runs its command from a log', (input, expected) => {
  const page = openPage(1, ['logs', '-f', 'web']);
  expect(computeKeyCommand({ ...withPod, overlay: 'output', page }, { input, key: {} })).toEqual(expected);
});

test.each<[typed: string, expected: KeyCommand]>([
  ['q', { type: 'leaveAsked' }],
  ['q!', { type: 'leaveAsked' }],
  ['quit', { type: 'leaveAsked' }],
  ['exit', { type: 'leaveAsked' }],
  ['h', { type: 'helpToggled' }],
  ['help', { type: 'helpToggled' }],
  ['?', { type: 'helpToggled' }],
  ['po', { type: 'podsShown' }],
  ['pod', { type: 'podsShown' }],
  ['pods', { type: 'podsShown' }],
  ['rollback', { type: 'ran', args: ['rollback'], isConfirmed: false }],
  ['q web', { type: 'ran', args: ['q', 'web'], isConfirmed: false }],
  ['  ', { type: 'promptClosed' }],
])(':%s is a command of the screen, or of kubelet-ts', (text, expected) => {
  const prompted = { ...withPod, prompt: { kind: ':' as const, text } };
  expect(computeKeyCommand(prompted, { input: '\r', key: { return: true } })).toEqual(expected);
});

test(':q leaves at once the screen of an agent that was there before', () => {
  const prompted = { ...withPod, isAttached: true, prompt: { kind: ':' as const, text: 'q' } };
  const expected = { type: 'left', leaving: 'detach' };
  expect(computeKeyCommand(prompted, { input: '\r', key: { return: true } })).toEqual(expected);
});

test('takes keys that arrive together one by one', () => {
  const presses = splitKeys('/a\r\t', {});
  const typing = { ...state, editingFilter: true };
  expect(
    [state, typing, typing, state].map((at, index) => computeKeyCommand(at, presses[index] ?? { input: '', key: {} })),
  ).toEqual([
    { type: 'filterOpened' },
    { type: 'filterTyped', text: 'a' },
    { type: 'filterKept' },
    { type: 'paneSwitched', by: 1 },
  ]);
});

test('a key names the pod by its namespace and whole name, which no other pod has', () => {
  const pods = [makeEntry('web-edge1', { namespace: 'shop' }), makeEntry('web-edge1')];
  const entries = pods.map((entry, index) => ({
    ...entry,
    pod: {
      ...entry.pod,
      metadata: { ...entry.pod.metadata, uid: `uid-${index}` },
      spec: { ...entry.pod.spec, nodeName: 'edge1' },
    },
  }));
  const both = initialViewState(makeSnapshot(entries), noon, { columns: 80, rows: 24 });
  const commands = ['uid-0', 'uid-1'].map((selectedUID) =>
    computeKeyCommand({ ...both, selectedUID }, { input: 'L', key: {} }),
  );
  expect(commands).toEqual([
    { type: 'ran', args: ['logs', '-p', 'shop/web-edge1'], isConfirmed: false },
    { type: 'ran', args: ['logs', '-p', 'default/web-edge1'], isConfirmed: false },
  ]);
});
