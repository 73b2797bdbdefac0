import { commandText } from './command-line.ts';
import { forwardCount } from './forwards.ts';
import { keyHelp, pageKeyHelp } from './key-bindings.ts';
import { type Layout, minimumSize } from './layout.ts';
import { type Line, textLine } from './line.ts';
import { type ViewState, visiblePods } from './view-state.ts';

/** The bottom line: the filter while it is typed, otherwise the most useful keys that fit. */
export function statusLine(state: ViewState, layout: Layout): Line {
  if (state.editingFilter) {
    return { spans: [{ text: '/', bold: true }, { text: state.filter }, { text: '▏', color: 'cyan' }] };
  }
  if (state.prompt !== undefined) {
    return {
      spans: [{ text: state.prompt.kind, bold: true }, { text: state.prompt.text }, { text: '▏', color: 'cyan' }],
    };
  }
  if (state.message !== '') {
    return textLine(state.message, { color: 'yellow' });
  }
  const filter = state.filter === '' ? [] : [`/${state.filter}`];
  const facts = [...filter, ...cutText(state, layout), ...forwardsText(state)];
  const spans = facts.map((fact) => ({ text: `${fact}  `, color: 'yellow' as const }));
  const width = spans.reduce((sum, { text }) => sum + text.length, 0);
  return { spans: [...spans, { text: keyLine(state, state.columns - width), color: 'gray' }] };
}

/** Such as `8 of 32 pods`. Empty if all are shown. */
function cutText(state: ViewState, layout: Layout): string[] {
  const count = visiblePods(state).length;
  const shown = Math.min(count, layout.pods - 1);
  return state.overlay !== 'none' || shown === count ? [] : [`${shown} of ${count} pods`];
}

/** Such as `2 forwarded ports (F)`. Empty without any. */
function forwardsText(state: ViewState): string[] {
  const count = forwardCount(state);
  return count === 0 ? [] : [`${count} forwarded ${count === 1 ? 'port' : 'ports'} (F)`];
}

/** The question before a command that stops something. */
export function confirmationLines(args: readonly string[]): Line[] {
  return [
    textLine('RUN THIS?', { bold: true }),
    textLine(`  $ ${commandText(args)}`),
    textLine(''),
    keyHelpLine(['y', 'run it']),
    keyHelpLine(['esc', 'change nothing']),
  ];
}

function keyHelpLine([keys, meaning]: readonly [string, string]): Line {
  return { spans: [{ text: `  ${keys.padEnd(11)}`, color: 'cyan' }, { text: meaning }] };
}

/** The help overlay. A wide terminal shows the keys of output next to the others. */
export function helpLines({ logFile }: Pick<ViewState, 'logFile'>): Line[] {
  return [
    textLine('KEYS', { bold: true }),
    ...keyHelp.map(keyHelpLine),
    textLine('IN LOGS AND OTHER OUTPUT', { bold: true }),
    ...pageKeyHelp.map(keyHelpLine),
    textLine('In WORKER, * is a sync in flight and + an update that waits for it.', { color: 'gray' }),
    ...logLines(logFile),
  ];
}

/** The question after `q`. */
export function leaveLines({ logFile }: Pick<ViewState, 'logFile'>): Line[] {
  return [
    textLine('LEAVE THE SCREEN', { bold: true }),
    ...leaveKeys.map(([key, meaning]): Line => ({
      spans: [{ text: `  ${key.padEnd(5)}`, color: 'cyan' }, { text: meaning }],
    })),
    ...logLines(logFile),
  ];
}

const leaveKeys = [
  ['d', 'detach: kubelet-ts keeps running'],
  ['s', 'stop it: pods keep running unsupervised'],
  ['esc', 'stay'],
] as const;

function logLines(logFile: string): Line[] {
  return logFile === '' ? [] : [textLine(''), textLine(`Log: ${logFile}`, { color: 'gray' })];
}

/** Text for a terminal that is too small. */
export function tooSmallLines({ columns, rows, overlay }: ViewState): Line[] {
  if (overlay === 'leave') {
    return leaveLines({ logFile: '' }).slice(0, rows);
  }
  return [
    textLine(`Terminal too small: ${columns}x${rows}`, { color: 'yellow' }),
    textLine(`kubelet-ts needs ${minimumSize.columns}x${minimumSize.rows}.`),
    textLine('Pods keep running.'),
  ].slice(0, rows);
}

/** Keys by importance. Those that do not fit are dropped. */
function keyLine(state: ViewState, columns: number): string {
  const back = state.overlay === 'none' ? [] : ['esc back'];
  if (state.overlay === 'output') {
    return fitting(
      ['esc back', '/ find', 'n N next', '& only matches', 'w wrap', 'S save', ...logKeys(state)],
      columns,
    );
  }
  if (state.overlay === 'forwards') return fitting(['esc back', 'enter show', 'D end', '↑↓/jk select'], columns);
  const keys = [
    'q leave',
    '? help',
    ...back,
    'enter pod',
    'l logs',
    'x explain',
    ': command',
    '/ filter',
    'tab pane',
    '↑↓/jk select',
    `e events: ${state.eventKind}`,
    state.pausedEvents === undefined ? 'p pause' : 'p continue',
  ];
  return fitting(keys, columns);
}

const logKeys = ({ page }: ViewState): string[] =>
  page?.args[0] === 'logs' ? ['p previous', 't times', 'c container'] : [];

function fitting(keys: readonly string[], columns: number): string {
  let line = '';
  for (const key of keys) {
    const longer = line === '' ? key : `${line}  ${key}`;
    if (longer.length > columns) {
      break;
    }
    line = longer;
  }
  return line;
}
