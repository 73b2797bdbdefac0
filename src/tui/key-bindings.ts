import type { Key } from 'ink';
import type { ViewAction, ViewState } from './view-state.ts';

/** The agent after the user leaves its screen: it keeps running, or it stops and its pods keep running. */
export type Leaving = 'detach' | 'stop';

/** Command of a key: a change of the view, leaving, or suspending as by ^Z. */
export type KeyCommand = ViewAction | { type: 'left'; leaving: Leaving } | { type: 'suspended' };

/** Keys of the screen, for the help. */
export const keyHelp: readonly (readonly [keys: string, meaning: string])[] = [
  ['↑ ↓ / j k', 'select a pod, or scroll the pane'],
  ['PgUp PgDn', 'one page up or down'],
  ['g G', 'first, last (last event: follow again)'],
  ['enter', 'details of the selected pod'],
  ['tab', 'next pane: pods, events, problems'],
  ['/', 'filter pods and events; esc clears it'],
  ['e', 'kind of events: all, pleg, recorded, workers'],
  ['p', 'pause or continue the events'],
  ['?', 'this help'],
  ['esc', 'back'],
  ['q', 'leave: asks if the kubelet-ts of this screen keeps running'],
  ['ctrl-z', 'suspend the screen; kubelet-ts keeps running'],
];

/** A single key press, in ink's form. */
export interface KeyPress {
  input: string;
  key: Partial<Key>;
}

/** Splits an input into single keys, because fast or pasted keys arrive as one text. */
export function splitKeys(input: string, key: Partial<Key>): KeyPress[] {
  const characters = Array.from(input);
  if (characters.length < 2) {
    return [{ input, key }];
  }
  return characters.map((character) => ({
    input: character,
    key: { return: character === '\r', tab: character === '\t', backspace: character === '\u007f' },
  }));
}

/** The command of a key press. Returns undefined for a key without one. */
export function computeKeyCommand(state: ViewState, { input, key }: KeyPress): KeyCommand | undefined {
  if (state.overlay === 'leave') {
    return leaveCommand(input, key);
  }
  if (key.ctrl) {
    return controlCommand(state, input);
  }
  return state.editingFilter ? filterCommand(input, key) : (namedKeyCommand(key) ?? letterCommand(state, input));
}

/** Other keys are ignored. A second ^C stops, as without a screen. */
function leaveCommand(input: string, key: Partial<Key>): KeyCommand | undefined {
  if (key.escape || input === 'q') {
    return { type: 'closed' };
  }
  if (input === (key.ctrl ? 'c' : 's')) {
    return { type: 'left', leaving: 'stop' };
  }
  return input === 'd' ? { type: 'left', leaving: 'detach' } : undefined;
}

/** An agent that was there before its screen keeps running. */
function leave({ isAttached }: ViewState): KeyCommand {
  return isAttached ? { type: 'left', leaving: 'detach' } : { type: 'leaveAsked' };
}

function controlCommand(state: ViewState, input: string): KeyCommand | undefined {
  switch (input) {
    case 'c':
      return leave(state);
    case 'z':
      return { type: 'suspended' };
    case 'u':
    case 'b':
      return { type: 'moved', move: 'pageUp' };
    case 'd':
    case 'f':
      return { type: 'moved', move: 'pageDown' };
    default:
      return undefined;
  }
}

function filterCommand(input: string, key: Partial<Key>): KeyCommand | undefined {
  if (key.return) {
    return { type: 'filterKept' };
  }
  if (key.escape) {
    return { type: 'filterCleared' };
  }
  // Terminals send either code for the backspace key.
  if (key.backspace || key.delete) {
    return { type: 'filterErased' };
  }
  return /^[^\p{Cc}]$/u.test(input) ? { type: 'filterTyped', text: input } : undefined;
}

function namedKeyCommand(key: Partial<Key>): KeyCommand | undefined {
  const commands: [boolean | undefined, KeyCommand][] = [
    [key.upArrow, { type: 'moved', move: 'up' }],
    [key.downArrow, { type: 'moved', move: 'down' }],
    [key.pageUp, { type: 'moved', move: 'pageUp' }],
    [key.pageDown, { type: 'moved', move: 'pageDown' }],
    [key.home, { type: 'moved', move: 'first' }],
    [key.end, { type: 'moved', move: 'last' }],
    [key.return, { type: 'detailsToggled' }],
    [key.escape, { type: 'closed' }],
    [key.tab, { type: 'paneSwitched', by: key.shift ? -1 : 1 }],
  ];
  return commands.find(([pressed]) => pressed)?.[1];
}

function letterCommand(state: ViewState, input: string): KeyCommand | undefined {
  switch (input) {
    case 'k':
      return { type: 'moved', move: 'up' };
    case 'j':
      return { type: 'moved', move: 'down' };
    case 'g':
      return { type: 'moved', move: 'first' };
    case 'G':
      return { type: 'moved', move: 'last' };
    case '/':
      return { type: 'filterOpened' };
    case 'e':
      return { type: 'eventKindSwitched' };
    case 'p':
      return { type: 'pauseToggled' };
    case '?':
      return { type: 'helpToggled' };
    case 'q':
      return leave(state);
    default:
      return undefined;
  }
}
