import type { Key } from 'ink';
import { changedLogs, commandOfKey, podArgument, runningContainer, splitArgs } from './command-line.ts';
import { type Move, selectedPod, type ViewAction, type ViewState } from './view-state.ts';

/** The agent after the user leaves its screen: it keeps running, or it stops and its pods keep running. */
export type Leaving = 'detach' | 'stop';

/** Command of a key: a change of the view, leaving, or suspending as with ^Z. */
export type KeyCommand =
  | ViewAction
  | { type: 'ran'; args: readonly string[]; isConfirmed: boolean }
  | { type: 'saved' }
  | { type: 'left'; leaving: Leaving }
  | { type: 'suspended' };

/** Keys of the screen, for the help. */
export const keyHelp: readonly (readonly [keys: string, meaning: string])[] = [
  ['↑ ↓ / j k', 'select a pod, or scroll the pane'],
  ['PgUp PgDn', 'one page up or down'],
  ['g G', 'first, last (last event: follow again)'],
  ['enter', 'the selected pod: state, containers, environment, mounts, events'],
  ['l L', 'its logs, followed across restarts; of the previous instance'],
  ['x d y', 'explain it; describe it; its YAML'],
  ['s f', 'a shell in it; forward a local port to it'],
  ['F', 'forwarded ports: enter shows one, D stops it'],
  ['R S U T', 'restart it; stop it; start it ("up"); try it now'],
  [':', 'a command, such as :rollback; :q leaves, :po shows the pods'],
  ['tab', 'next pane: pods, events, problems'],
  ['/', 'filter pods and events; esc clears it'],
  ['e', 'kind of events: news, all, pleg, recorded, workers'],
  ['i', 'the engine: relists, syncs, the worker of each pod'],
  ['p', 'pause or continue the events'],
  ['?', 'this help'],
  ['esc', 'back'],
  ['q', 'leave: asks if the kubelet-ts of this screen keeps running'],
  ['ctrl-z', 'suspend the screen; kubelet-ts keeps running'],
];

/** Keys of logs and other output, for the help. */
export const pageKeyHelp: readonly (readonly [keys: string, meaning: string])[] = [
  ['/ n N', 'find a text; the next one; the one before'],
  ['&', 'only lines with the text, or all'],
  ['w S', 'wrap long lines; save to a file in the current folder'],
  ['p t c', 'logs: previous instance, times, next container'],
  ['G', 'the end: follow new lines'],
  ['esc', 'back; stops the command, but not a forwarded port'],
];

export type { Key };

/** A single key press, in ink's form. */
export interface KeyPress {
  input: string;
  key: Partial<Key>;
}

const lateAnswer = /\]11;rgba?:[\da-f/]+/i;

/** Splits an input into single keys, because fast or pasted keys arrive as one text. */
export function splitKeys(input: string, key: Partial<Key>): KeyPress[] {
  // A late answer of the terminal about its color.
  const characters = Array.from(input.replace(lateAnswer, ''));
  if (characters.length < 2) {
    return [{ input: characters.join(''), key }];
  }
  return characters.map((character) => ({
    input: character,
    key: { return: character === '\r', tab: character === '\t', backspace: character === '\u007f' },
  }));
}

/** True while the screen asks a question. Only a single key answers it. */
export function awaitsAnswer({ overlay }: Pick<ViewState, 'overlay'>): boolean {
  return overlay === 'leave' || overlay === 'ask';
}

/** The command of a key press. Returns undefined for a key without one. */
export function computeKeyCommand(state: ViewState, { input, key }: KeyPress): KeyCommand | undefined {
  if (state.overlay === 'leave') {
    return leaveCommand(input, key);
  }
  if (state.overlay === 'ask') {
    return confirmationCommand(state, input, key);
  }
  if (key.ctrl) {
    return controlCommand(state, input);
  }
  if (state.prompt !== undefined) {
    return promptCommand(state, state.prompt, input, key);
  }
  if (state.editingFilter) {
    return filterCommand(input, key);
  }
  if (state.overlay === 'output') {
    return pageCommand(state, input, key);
  }
  if (state.overlay === 'forwards') {
    return forwardsCommand(input, key);
  }
  return namedKeyCommand(key) ?? letterCommand(state, input);
}

/** Ignores other keys. A second ^C stops the agent, as without a screen. */
function leaveCommand(input: string, key: Partial<Key>): KeyCommand | undefined {
  if (key.escape || input === 'q') {
    return { type: 'closed' };
  }
  if (input === (key.ctrl ? 'c' : 's')) {
    return { type: 'left', leaving: 'stop' };
  }
  return input === 'd' ? { type: 'left', leaving: 'detach' } : undefined;
}

/** An agent that was running before its screen keeps running. */
function leave({ isAttached }: ViewState): KeyCommand {
  return isAttached ? { type: 'left', leaving: 'detach' } : { type: 'leaveAsked' };
}

function confirmationCommand(
  { unconfirmedArgs: asked }: ViewState,
  input: string,
  key: Partial<Key>,
): KeyCommand | undefined {
  if (key.escape || input === 'n' || (key.ctrl && input === 'c')) {
    return { type: 'closed' };
  }
  return input === 'y' ? { type: 'ran', args: asked, isConfirmed: true } : undefined;
}

/** Commands of the screen itself, as in vim and k9s. */
function ownCommand(state: ViewState, [word = '', ...more]: readonly string[]): KeyCommand | undefined {
  if (more.length > 0) return undefined;
  switch (word) {
    case 'q':
    case 'q!':
    case 'quit':
    case 'exit':
      return leave(state);
    case 'h':
    case 'help':
    case '?':
      return { type: 'helpToggled' };
    case 'po':
    case 'pod':
    case 'pods':
      return { type: 'podsShown' };
    default:
      return undefined;
  }
}

function promptCommand(
  state: ViewState,
  { kind, text }: { kind: ':' | '/'; text: string },
  input: string,
  key: Partial<Key>,
): KeyCommand | undefined {
  if (key.return) {
    if (kind === '/') return { type: 'searchKept' };
    const args = splitArgs(text);
    if (args.length === 0) return { type: 'promptClosed' };
    return ownCommand(state, args) ?? { type: 'ran', args, isConfirmed: false };
  }
  if (key.escape) {
    return { type: 'promptClosed' };
  }
  if (key.backspace || key.delete) {
    return text === '' ? { type: 'promptClosed' } : { type: 'promptErased' };
  }
  return /^[^\p{Cc}]$/u.test(input) ? { type: 'promptTyped', text: input } : undefined;
}

function pageCommand(state: ViewState, input: string, key: Partial<Key>): KeyCommand | undefined {
  const { page } = state;
  switch (input) {
    case '/':
      return { type: 'promptOpened', kind: '/' };
    case 'n':
      return { type: 'searchedOn', by: 1 };
    case 'N':
      return { type: 'searchedOn', by: -1 };
    case '&':
      return { type: 'pageChanged', setting: 'onlyMatching' };
    case 'w':
      return { type: 'pageChanged', setting: 'isWrapped' };
    case 'S':
      return { type: 'saved' };
    case 'F':
      return { type: 'forwardsOpened' };
    case 'q':
      return { type: 'closed' };
  }
  const { spec } = selectedPod(state)?.pod ?? {};
  const args =
    page &&
    changedLogs(
      page.args,
      input,
      (spec?.containers ?? []).map(({ name }) => name),
    );
  if (args !== undefined) return { type: 'ran', args, isConfirmed: true };
  if (key.return || key.tab) return undefined;
  return namedKeyCommand(key) ?? moveOfLetter(input);
}

function forwardsCommand(input: string, key: Partial<Key>): KeyCommand | undefined {
  if (key.return) return { type: 'forwardShown' };
  if (input === 'D') return { type: 'forwardEnded' };
  if (input === 'F' || input === 'q') return { type: 'closed' };
  return key.tab ? undefined : (namedKeyCommand(key) ?? moveOfLetter(input));
}

/** A command line about the selected pod. */
function podCommand(state: ViewState, input: string): KeyCommand | undefined {
  const entry = selectedPod(state);
  if (entry === undefined) return undefined;
  const pod = podArgument(entry);
  if (input === 'f') return { type: 'promptOpened', kind: ':', text: `port-forward ${pod} ` };
  const args = commandOfKey(input, pod, runningContainer(entry));
  return args && { type: 'ran', args, isConfirmed: false };
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

function moveOfLetter(input: string): KeyCommand | undefined {
  const moves: Readonly<Record<string, Move>> = { k: 'up', j: 'down', g: 'first', G: 'last' };
  const move = moves[input];
  return move && { type: 'moved', move };
}

function letterCommand(state: ViewState, input: string): KeyCommand | undefined {
  switch (input) {
    case ':':
      return { type: 'promptOpened', kind: ':' };
    case '/':
      return { type: 'filterOpened' };
    case 'e':
      return { type: 'eventKindSwitched' };
    case 'i':
      return { type: 'engineToggled' };
    case 'p':
      return { type: 'pauseToggled' };
    case 'F':
      return { type: 'forwardsOpened' };
    case '?':
      return { type: 'helpToggled' };
    case 'q':
      return leave(state);
    default:
      return moveOfLetter(input) ?? podCommand(state, input);
  }
}
