import type { Key } from 'ink';
import { expect, test } from 'vitest';
import { computeKeyCommand, type KeyCommand, splitKeys } from '../../src/tui/key-bindings.ts';
import { initialViewState } from '../../src/tui/view-state.ts';
import { makeSnapshot, noon } from './make-snapshot.ts';

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
