import { podKey } from '../api/values/pod-names.ts';
import { detailsLines } from './details-lines.ts';
import { engineLines } from './engine-lines.ts';
import { eventLines } from './event-lines.ts';
import { forwardsLines } from './forwards.ts';
import { startingLines } from './header-lines.ts';
import { confirmationLines, helpLines, leaveLines, statusLine, tooSmallLines } from './help-lines.ts';
import type { Layout } from './layout.ts';
import { greyLine, type Line, styleLine, textLine } from './line.ts';
import { pageLines, pageRows } from './output-page.ts';
import { podTable } from './pod-table.ts';
import { problemLines } from './problem-lines.ts';
import type { Palette } from './theme.ts';
import {
  layoutOf,
  selectedPod,
  shownProblems,
  type ViewState,
  visibleEvents,
  visibleHeader,
  visiblePods,
} from './view-state.ts';

/** The whole screen. */
export interface Frame {
  columns: number;
  rows: number;
  /** From top to bottom, `rows` rows in total. */
  sections: readonly FrameSection[];
}

export interface FrameSection {
  name: 'header' | 'pods' | 'events' | 'log' | 'problems' | 'overlay' | 'footer';
  /** Including style sequences, at most `columns` wide. */
  rows: readonly string[];
}

/** Header, panes or an overlay, and the help line. */
export function frameOf(state: ViewState, palette: Palette | undefined): Frame {
  const { columns, rows } = state;
  const sections = sectionsOf(state).map(({ name, lines }) => ({
    name,
    rows: lines.map((line) => styleLine(line, columns, palette)),
  }));
  return { columns, rows, sections };
}

/** The frame as one text. */
export function frameText({ sections }: Frame): string {
  return sections.flatMap(({ rows }) => rows).join('\n');
}

interface Section {
  name: FrameSection['name'];
  lines: readonly Line[];
}

function sectionsOf(state: ViewState): Section[] {
  const layout = layoutOf(state);
  if (layout === undefined) return [{ name: 'overlay', lines: filled(tooSmallLines(state), state.rows) }];
  const body = bodySections(state, layout);
  const rest = layout.body - body.reduce((count, { lines }) => count + lines.length, 0);
  return [
    { name: 'header', lines: filled(visibleHeader(state), layout.header) },
    ...(state.silence === undefined ? body : body.map(greySection)),
    { name: 'footer', lines: [...filled([], rest), statusLine(state, layout)] },
  ];
}

function bodySections(state: ViewState, layout: Layout): Section[] {
  const overlay = overlayLines(state, layout);
  if (overlay !== undefined) return [{ name: 'overlay', lines: filled(overlay, layout.body) }];
  return [
    { name: 'pods', lines: filled(podsPane(state, layout), layout.pods) },
    { name: 'events', lines: filled(eventsPane(state, layout), layout.events) },
    { name: 'log', lines: filled(logPane(state, layout), layout.log) },
    { name: 'problems', lines: filled(problemsPane(state, layout), layout.problems) },
  ];
}

function greySection({ name, lines }: Section): Section {
  return { name, lines: lines.map(greyLine) };
}

/** Exactly `height` lines. */
function filled(lines: readonly Line[], height: number): Line[] {
  return Array.from({ length: height }, (_, index) => lines[index] ?? { spans: [] });
}

function overlayLines(state: ViewState, layout: Layout): Line[] | undefined {
  const entry = selectedPod(state);
  if (state.overlay === 'details' && entry !== undefined) {
    const lines = detailsLines(entry, state);
    return lines.slice(Math.max(0, Math.min(state.scroll.details, lines.length - layout.body)));
  }
  if (state.overlay === 'output' && state.page !== undefined) {
    return pageLines(state.page, state.columns, layout.body);
  }
  if (state.overlay === 'ask') {
    return confirmationLines(state.unconfirmedArgs);
  }
  if (state.overlay === 'leave') {
    return leaveLines(state);
  }
  if (state.overlay === 'forwards') {
    return forwardsLines(state);
  }
  if (state.overlay === 'engine') {
    const lines = engineLines(state.snapshot, state.pulse, state.now);
    return [...lines, ...podsTable(state, { height: layout.body - lines.length, isOfEngine: true })];
  }
  return state.overlay === 'help' ? helpLines(state) : undefined;
}

function podsPane(state: ViewState, layout: Layout): Line[] {
  const pods = visiblePods(state);
  if (pods.length === 0) {
    const text = state.filter === '' ? 'No pods. Put a manifest into a source.' : 'No pod matches the filter.';
    const starting = startingLines(state.silence, state.columns);
    const title = textLine('  PODS', { bold: state.pane === 'pods' });
    return [title, ...(starting.length > 0 ? starting : [textLine(`  ${text}`, { color: 'gray' })])];
  }
  return podsTable(state, { height: layout.pods, isOfEngine: false });
}

function podsTable(state: ViewState, more: { height: number; isOfEngine: boolean }): Line[] {
  return podTable(visiblePods(state), {
    node: state.snapshot,
    usages: state.usages,
    now: state.now,
    columns: state.columns,
    selectedUID: state.selectedUID,
    focused: state.pane === 'pods',
    ...more,
  });
}

function eventsPane(state: ViewState, layout: Layout): Line[] {
  const events = visibleEvents(state);
  const height = layout.events - 1;
  const end = Math.max(Math.min(height, events.length), events.length - state.scroll.events);
  const shown = events.slice(Math.max(0, end - height), end);
  const waiting =
    state.pausedEvents === undefined ? '' : `, paused (${state.eventCount - state.pausedEvents.eventCount} new)`;
  const recent = events.filter(({ at }) => at > state.now - 60_000).length;
  const count = layout.log === 0 ? '' : `, ${recent} in the last minute`;
  const title = titleLine(`EVENTS ${state.eventKind}${count}${waiting}`, state.pane === 'events', state.columns);
  return [title, ...eventLines(shown, state.columns)];
}

function logPane(state: ViewState, layout: Layout): Line[] {
  const { tail, columns } = state;
  const entry = selectedPod(state);
  if (entry === undefined) return [];
  const height = layout.log - 1;
  // Each line has at least one row. Earlier ones are not wrapped, because that takes long.
  const rows =
    tail === undefined ? [] : pageRows({ ...tail, lines: tail.lines.slice(-height) }, columns).slice(-height);
  return [titleLine(`LOG ${podKey(entry.pod.metadata)}`, false, columns), ...rows.map((row) => textLine(row))];
}

function problemsPane(state: ViewState, layout: Layout): Line[] {
  const problems = shownProblems(state);
  const lines = problemLines(problems);
  const first = Math.max(0, Math.min(state.scroll.problems, lines.length - (layout.problems - 1)));
  return [
    titleLine(`PROBLEMS ${problems.length}`, state.pane === 'problems', state.columns, 'red'),
    ...lines.slice(first),
  ];
}

function titleLine(title: string, focused: boolean, columns: number, color: 'red' | 'cyan' = 'cyan'): Line {
  const rule = '─'.repeat(Math.max(0, columns - title.length - 4));
  return {
    spans: [
      { text: focused ? '━━ ' : '── ', color },
      { text: title, bold: focused, color },
      { text: ` ${focused ? rule.replaceAll('─', '━') : rule}`, color },
    ],
  };
}
