import { allContainerStatuses } from '../api/values/container-statuses.ts';
import { podStatusText } from '../api/values/pod-printer.ts';
import type { KubeletEvent, ManifestProblem } from '../engine/view/events.ts';
import { isWell } from '../engine/view/is-well.ts';
import type { EngineSnapshot, PodSnapshot, PodUsage, Silence } from '../engine/view/snapshot.ts';
import { describeEvent } from './describe-event.ts';
import { detailsLines } from './details-lines.ts';
import { type EventKind, eventKindOf, isOfKind, nextEventKind } from './event-lines.ts';
import { selectForward, withEnd, withoutPage, withoutSelected, withOutput, withSelectedPage } from './forwards.ts';
import { headerLineLimit, headerLines, silenceLines, startingLines } from './header-lines.ts';
import { computeLayout, type Layout, minimumSize, type Pane } from './layout.ts';
import type { Line } from './line.ts';
import { podArgument } from './command-line.ts';
import { firstRow, nextMatch, openPage, type OutputPage, pageRows } from './output-page.ts';
import { hasReasonColumn } from './pod-table.ts';
import { manifestProblems, problemLines } from './problem-lines.ts';
import { initialPulse, nextPulse, type Pulse } from './pulse.ts';
import { nextUsages, type UsageHistories } from './usage-history.ts';

/** State from which the screen is drawn. */
export interface ViewState {
  snapshot: EngineSnapshot;
  /** Time of the snapshot. Ages are relative to it. */
  now: number;
  /** Set while the agent does not answer. The snapshot is its last one. */
  silence: Silence | undefined;
  /** The agent's log file. Empty if unknown. */
  logFile: string;
  /** True if the agent was running before the screen, so that leaving needs no question. */
  isAttached: boolean;
  /** True if keys must not change pods. */
  isReadOnly: boolean;
  columns: number;
  rows: number;
  usages: UsageHistories;
  /** Latencies for the page of the engine. */
  pulse: Pulse;
  /** The newest events of the events pane, oldest first. */
  events: readonly KubeletEvent[];
  /** Number of events in the events pane since the start. */
  eventCount: number;
  /** Content of the events pane while it is paused. */
  pausedEvents: { events: readonly KubeletEvent[]; eventCount: number } | undefined;
  eventKind: EventKind;
  pane: Pane;
  overlay: 'none' | 'details' | 'engine' | 'help' | 'leave' | 'ask' | 'output' | 'forwards';
  /** Set with the overlay `output`. */
  page: OutputPage | undefined;
  /** The log of the selected pod, in a large terminal. */
  tail: OutputPage | undefined;
  /** Forwarded ports whose pages are closed. They stop with the screen. */
  forwards: readonly OutputPage[];
  /** Index in the list of forwarded ports. */
  selectedForward: number;
  /** The command line that the overlay `ask` wants confirmed. */
  unconfirmedArgs: readonly string[];
  /** The line that is being typed: a command, or a text to search for in the output. */
  prompt: { kind: ':' | '/'; text: string } | undefined;
  /** One line for the user, until the next key. Empty for none. */
  message: string;
  /** Undefined only without any pod. */
  selectedUID: string | undefined;
  filter: string;
  editingFilter: boolean;
  /** Scrolled lines: from the newest event, the first problem, and the top of the details. */
  scroll: { events: number; problems: number; details: number };
}

export type Move = 'up' | 'down' | 'pageUp' | 'pageDown' | 'first' | 'last';

/** A change of the view by the engine, the terminal or a key. */
export type ViewAction =
  | { type: 'refreshed'; snapshot: EngineSnapshot; silence?: Silence; events: readonly KubeletEvent[]; now: number }
  | { type: 'sampled'; usage: readonly PodUsage[] }
  | { type: 'resized'; columns: number; rows: number }
  | { type: 'moved'; move: Move }
  | { type: 'paneSwitched'; by: 1 | -1 }
  | { type: 'detailsToggled' }
  | { type: 'helpToggled' }
  | { type: 'closed' }
  | { type: 'leaveAsked' }
  | { type: 'podsShown' }
  | { type: 'engineToggled' }
  | { type: 'runAsked'; args: readonly string[] }
  | { type: 'pageOpened'; id: number; args: readonly string[] }
  | { type: 'tailOpened'; id: number; args: readonly string[] }
  | { type: 'tailClosed' }
  | { type: 'pageGrew'; id: number; text: string }
  | { type: 'pageEnded'; id: number; exitCode: number }
  | { type: 'forwardsOpened' }
  | { type: 'forwardShown' }
  | { type: 'forwardEnded' }
  | { type: 'pageChanged'; setting: 'isWrapped' | 'onlyMatching' }
  | { type: 'searchedOn'; by: 1 | -1 }
  | { type: 'promptOpened'; kind: ':' | '/'; text?: string }
  | { type: 'promptTyped'; text: string }
  | { type: 'promptErased' }
  | { type: 'promptClosed' }
  | { type: 'searchKept' }
  | { type: 'messageShown'; text: string }
  | { type: 'eventKindSwitched' }
  | { type: 'pauseToggled' }
  | { type: 'filterOpened' }
  | { type: 'filterTyped'; text: string }
  | { type: 'filterErased' }
  | { type: 'filterKept' }
  | { type: 'filterCleared' };

/** Events that the screen keeps. */
export const maxEvents = 500;

/** The view before the first event. */
export function initialViewState(
  snapshot: EngineSnapshot,
  now: number,
  settings: Pick<ViewState, 'columns' | 'rows'> &
    Partial<Pick<ViewState, 'silence' | 'logFile' | 'isAttached' | 'isReadOnly'>>,
): ViewState {
  const state: ViewState = {
    snapshot,
    now,
    silence: undefined,
    logFile: '',
    isAttached: false,
    isReadOnly: false,
    ...settings,
    usages: {},
    pulse: initialPulse(snapshot),
    events: pastEvents(snapshot),
    eventCount: 0,
    pausedEvents: undefined,
    eventKind: 'news',
    pane: 'pods',
    overlay: 'none',
    page: undefined,
    tail: undefined,
    forwards: [],
    selectedForward: 0,
    unconfirmedArgs: [],
    prompt: undefined,
    message: '',
    selectedUID: undefined,
    filter: '',
    editingFilter: false,
    scroll: { events: 0, problems: 0, details: 0 },
  };
  return keepSelection(state, state);
}

/** The next view. */
export function reduce(state: ViewState, action: ViewAction): ViewState {
  switch (action.type) {
    case 'refreshed':
      return keepSelection(state, refresh(state, action));
    case 'sampled':
      return { ...state, usages: nextUsages(state.usages, action.usage) };
    case 'resized':
      return { ...state, columns: action.columns, rows: action.rows };
    case 'moved':
      return move(state, action.move);
    case 'paneSwitched':
      return { ...state, pane: nextPane(state, action.by) };
    case 'detailsToggled':
      if (state.overlay === 'details' || state.selectedUID === undefined) {
        return { ...state, overlay: 'none' };
      }
      return { ...state, overlay: 'details', scroll: { ...state.scroll, details: 0 } };
    case 'helpToggled':
      return { ...withoutPage(state), prompt: undefined, overlay: state.overlay === 'help' ? 'none' : 'help' };
    case 'podsShown':
      return { ...withoutPage(state), prompt: undefined, overlay: 'none', pane: 'pods' };
    case 'engineToggled':
      return { ...state, overlay: state.overlay === 'engine' ? 'none' : 'engine' };
    case 'runAsked':
      return { ...state, overlay: 'ask', unconfirmedArgs: action.args };
    case 'pageOpened':
      return { ...withoutPage(state), overlay: 'output', page: openPage(action.id, action.args) };
    case 'tailOpened':
      return { ...state, tail: { ...openPage(action.id, action.args), top: 'end', isWrapped: true } };
    case 'tailClosed':
      return { ...state, tail: undefined };
    case 'pageGrew':
      return withOutput(state, action);
    case 'pageEnded':
      return selectForward(withEnd(state, action));
    case 'forwardsOpened':
      return selectForward({ ...withoutPage(state), overlay: 'forwards' });
    case 'forwardShown':
      return state.forwards.length === 0 ? state : { ...withSelectedPage(state), overlay: 'output' };
    case 'forwardEnded':
      return selectForward({ ...state, forwards: withoutSelected(state) });
    case 'promptOpened':
      return { ...state, prompt: { kind: action.kind, text: action.text ?? '' } };
    case 'promptTyped':
      return withPrompt(state, (text) => text + action.text);
    case 'promptErased':
      return withPrompt(state, (text) => Array.from(text).slice(0, -1).join(''));
    case 'promptClosed':
      return { ...state, prompt: undefined };
    case 'messageShown':
      return { ...state, message: action.text };
    case 'pageChanged':
    case 'searchKept':
    case 'searchedOn':
      return state.page === undefined ? state : reducePage(state, state.page, action);
    case 'leaveAsked':
      return { ...state, overlay: 'leave', prompt: undefined, editingFilter: false };
    case 'closed':
      return state.overlay === 'none' ? withFilter(state, '') : { ...withoutPage(state), overlay: 'none' };
    case 'eventKindSwitched':
      return { ...withoutEventScroll(state), eventKind: nextEventKind(state.eventKind) };
    case 'pauseToggled':
      return state.pausedEvents === undefined ? pauseEvents(state) : withoutEventScroll(state);
    case 'filterOpened':
      return { ...state, overlay: 'none', editingFilter: true };
    case 'filterTyped':
      return withFilter(state, state.filter + action.text);
    case 'filterErased':
      return withFilter(state, Array.from(state.filter).slice(0, -1).join(''));
    case 'filterKept':
      return { ...state, editingFilter: false };
    case 'filterCleared':
      return { ...withFilter(state, ''), editingFilter: false };
  }
}

/** Pods that match the filter, those with trouble first. */
export function visiblePods(state: ViewState): PodSnapshot[] {
  const wanted = state.filter.toLowerCase();
  const matching = state.snapshot.pods.filter(({ pod, worker }) => {
    const { namespace, name } = pod.metadata;
    return `${namespace}/${name} ${podStatusText(pod, worker)} ${worker.state}`.toLowerCase().includes(wanted);
  });
  const unwell = new Set(matching.filter((entry) => !isWell(entry, state.snapshot)));
  return [...unwell, ...matching.filter((entry) => !unwell.has(entry))];
}

/** Events that match kind and filter, oldest first. While paused, those at the time of the pause. */
export function visibleEvents(state: ViewState): KubeletEvent[] {
  const wanted = state.filter.toLowerCase();
  return (state.pausedEvents?.events ?? state.events).filter((event) => {
    if (!isOfKind(event, state.eventKind)) return false;
    if (wanted === '') return true;
    const { pod, title, detail } = describeEvent(event);
    return `${pod?.namespace ?? ''}/${pod?.name ?? ''} ${title} ${detail}`.toLowerCase().includes(wanted);
  });
}

/** The pod that is selected. */
export function selectedPod(state: ViewState): PodSnapshot | undefined {
  return state.snapshot.pods.find((entry) => entry.pod.metadata.uid === state.selectedUID);
}

/** The header for this terminal size. */
export function visibleHeader(state: ViewState): Line[] {
  const limit = state.rows < 16 ? 1 : headerLineLimit;
  return state.silence === undefined
    ? headerLines(state.snapshot, state.now, state.columns, limit)
    : silenceLines(state.snapshot.nodeName, state.silence, state.now);
}

/** The rows of each part of the screen. Returns undefined if the terminal is too small. */
export function layoutOf(state: ViewState): Layout | undefined {
  if (state.columns < minimumSize.columns || state.rows < minimumSize.rows) {
    return undefined;
  }
  const pods = visiblePods(state);
  return computeLayout({
    columns: state.columns,
    rows: state.rows,
    header: visibleHeader(state).length,
    podCount: Math.max(pods.length, startingLines(state.silence, state.columns).length),
    reasonCount: hasReasonColumn(state) ? 0 : pods.filter((entry) => !isWell(entry, state.snapshot)).length,
    problemLineCount: problemLines(shownProblems(state)).length,
    pane: state.pane,
  });
}

/** The pod whose log the screen follows, and a key that changes when its log has to be opened again. */
export function wantedTail(state: ViewState): { key: string; pod: string } | undefined {
  const entry = selectedPod(state);
  if (entry === undefined || (layoutOf(state)?.log ?? 0) === 0) return undefined;
  // Without an instance, a container has no log yet.
  const instances = allContainerStatuses(entry.pod.status).filter(({ containerID = '' }) => containerID !== '');
  return { key: `${entry.pod.metadata.uid} ${instances.length}`, pod: podArgument(entry) };
}

/** Errors of manifests. Warnings are counted in the header, and shown in the pane that `tab` leads to. */
export function shownProblems({ snapshot, pane }: Pick<ViewState, 'snapshot' | 'pane'>): ManifestProblem[] {
  const problems = manifestProblems(snapshot);
  return pane === 'problems' ? problems : problems.filter(({ severity }) => severity === 'error');
}

/** The events that the pods of a snapshot remember, oldest first. */
function pastEvents({ pods }: EngineSnapshot): KubeletEvent[] {
  const events = pods.flatMap((entry) => entry.events).filter((event) => eventKindOf(event) !== undefined);
  return events.toSorted((a, b) => a.at - b.at).slice(-maxEvents);
}

/** The first events of a screen, after the past that the agent knows. */
function withPast(snapshot: EngineSnapshot, shown: readonly KubeletEvent[]): KubeletEvent[] {
  const past = pastEvents(snapshot);
  const known = new Set(past.map((event) => JSON.stringify(event)));
  return [...past, ...shown.filter((event) => !known.has(JSON.stringify(event)))];
}

type PageAction = Extract<ViewAction, { type: 'pageChanged' | 'searchKept' | 'searchedOn' }>;

function reducePage(state: ViewState, page: OutputPage, action: PageAction): ViewState {
  switch (action.type) {
    case 'pageChanged':
      return { ...state, page: { ...page, [action.setting]: !page[action.setting] } };
    case 'searchKept': {
      const found = { ...page, search: state.prompt?.text ?? '', onlyMatching: false };
      return search({ ...state, prompt: undefined, page: found }, found, 1);
    }
    case 'searchedOn':
      return search(state, page, action.by);
  }
}

/** Moves to the next match, starting over at the first row after the last match. */
function search(state: ViewState, page: OutputPage, by: 1 | -1): ViewState {
  if (page.search === '') return state;
  const { count, height } = pageSize(state, page);
  const from = firstRow(page, count, height);
  const next = nextMatch(page, state.columns, from, by) ?? nextMatch(page, state.columns, by === 1 ? -1 : count, by);
  return next === undefined
    ? { ...state, message: `not found: ${page.search}` }
    : { ...state, page: { ...page, top: next } };
}

/** The rows of the page, and the number of rows that fit below its title. */
function pageSize(state: ViewState, page: OutputPage): { count: number; height: number } {
  return { count: pageRows(page, state.columns).length, height: (layoutOf(state)?.body ?? 1) - 1 };
}

function withPrompt(state: ViewState, change: (text: string) => string): ViewState {
  return state.prompt === undefined
    ? state
    : { ...state, prompt: { ...state.prompt, text: change(state.prompt.text) } };
}

function refresh(state: ViewState, action: Extract<ViewAction, { type: 'refreshed' }>): ViewState {
  const { snapshot, silence, now } = action;
  const shown = action.events.filter((event) => eventKindOf(event) !== undefined);
  const hasProblems = manifestProblems(snapshot).length > 0;
  return {
    ...state,
    snapshot,
    silence,
    now,
    pulse: nextPulse(state.pulse, snapshot, action.events),
    events: (state.events.length === 0 ? withPast(snapshot, shown) : [...state.events, ...shown]).slice(-maxEvents),
    eventCount: state.eventCount + shown.length,
    pane: state.pane === 'problems' && !hasProblems ? 'pods' : state.pane,
  };
}

/** Keeps the selected pod. If it was removed, selects the pod at its position in `before`. */
function keepSelection(before: ViewState, state: ViewState): ViewState {
  const pods = visiblePods(state);
  if (pods.some((entry) => entry.pod.metadata.uid === state.selectedUID)) {
    return state;
  }
  const index = visiblePods(before).findIndex((entry) => entry.pod.metadata.uid === state.selectedUID);
  const next = pods[Math.max(0, Math.min(index, pods.length - 1))];
  return {
    ...state,
    selectedUID: next?.pod.metadata.uid,
    overlay: state.overlay === 'details' ? 'none' : state.overlay,
  };
}

function withFilter(state: ViewState, filter: string): ViewState {
  return keepSelection(state, { ...state, filter, scroll: { ...state.scroll, events: 0 } });
}

function nextPane(state: ViewState, by: 1 | -1): Pane {
  const panes: Pane[] = ['pods', 'events'];
  if (manifestProblems(state.snapshot).length > 0) {
    panes.push('problems');
  }
  return panes[(panes.indexOf(state.pane) + by + panes.length) % panes.length] ?? 'pods';
}

function pauseEvents(state: ViewState): ViewState {
  return state.pausedEvents
    ? state
    : { ...state, pausedEvents: { events: state.events, eventCount: state.eventCount } };
}

/** Returns to the newest events. */
function withoutEventScroll(state: ViewState): ViewState {
  return { ...state, pausedEvents: undefined, scroll: { ...state.scroll, events: 0 } };
}

function move(state: ViewState, direction: Move): ViewState {
  const layout = layoutOf(state);
  if (layout === undefined || ['help', 'leave', 'ask'].includes(state.overlay)) {
    return state;
  }
  if (state.overlay === 'output' && state.page !== undefined) {
    return { ...state, page: movedPage(state, state.page, direction) };
  }
  if (state.overlay === 'forwards') {
    const last = state.forwards.length - 1;
    return { ...state, selectedForward: moved(state.selectedForward, direction, layout.body - 1, last) };
  }
  if (state.overlay === 'details') {
    const entry = selectedPod(state);
    const lineCount = entry === undefined ? 0 : detailsLines(entry, state).length;
    return withScroll(state, 'details', moved(state.scroll.details, direction, layout.body, lineCount - layout.body));
  }
  if (state.overlay === 'engine') return moveSelection(state, direction, layout.body);
  switch (state.pane) {
    case 'pods':
      return moveSelection(state, direction, layout.pods - 1);
    case 'problems': {
      const height = layout.problems - 1;
      const lineCount = problemLines(shownProblems(state)).length;
      return withScroll(state, 'problems', moved(state.scroll.problems, direction, height, lineCount - height));
    }
    case 'events':
      return moveEvents(state, direction, layout.events - 1);
  }
}

/** The last row follows new output. */
function movedPage(state: ViewState, page: OutputPage, direction: Move): OutputPage {
  const { count, height } = pageSize(state, page);
  const last = Math.max(0, count - height);
  const top = moved(firstRow(page, count, height), direction, height, last);
  return { ...page, top: top === last && page.exitCode === undefined ? 'end' : top };
}

function moveSelection(state: ViewState, direction: Move, height: number): ViewState {
  const pods = visiblePods(state);
  const index = pods.findIndex((entry) => entry.pod.metadata.uid === state.selectedUID);
  const next = pods[moved(index, direction, height, pods.length - 1)];
  return next === undefined ? state : { ...state, selectedUID: next.pod.metadata.uid };
}

/** Scrolls from the newest event upwards. Scrolling up freezes the events, so that they do not move. */
function moveEvents(state: ViewState, direction: Move, height: number): ViewState {
  if (direction === 'last') {
    return withoutEventScroll(state);
  }
  const opposite: Record<Move, Move> = {
    up: 'down',
    down: 'up',
    pageUp: 'pageDown',
    pageDown: 'pageUp',
    first: 'last',
    last: 'first',
  };
  const scroll = moved(state.scroll.events, opposite[direction], height, visibleEvents(state).length - height);
  return scroll === 0 ? withScroll(state, 'events', 0) : withScroll(pauseEvents(state), 'events', scroll);
}

function withScroll(state: ViewState, part: keyof ViewState['scroll'], lines: number): ViewState {
  return { ...state, scroll: { ...state.scroll, [part]: lines } };
}

/** `position` after the move, within 0 and `last`. */
function moved(position: number, direction: Move, page: number, last: number): number {
  const target = {
    up: position - 1,
    down: position + 1,
    pageUp: position - page,
    pageDown: position + page,
    first: 0,
    last,
  }[direction];
  return Math.max(0, Math.min(target, last));
}
