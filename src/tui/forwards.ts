import { commandText } from './command-line.ts';
import { type Line, textLine } from './line.ts';
import { grownPage, type OutputPage } from './output-page.ts';

/** Pages of commands that run: the one on the screen, those of forwarded ports, and the log below the events. */
export interface Pages {
  page: OutputPage | undefined;
  /** The log of the selected pod, where the terminal is large enough. */
  tail: OutputPage | undefined;
  /** Forwarded ports whose pages are closed. They stop with the screen. */
  forwards: readonly OutputPage[];
}

/** The list of forwarded ports with its selected row. */
interface ForwardList extends Pages {
  /** Index in `forwards`. */
  selectedForward: number;
}

/** Each forwarded port is a process. */
export const maxForwards = 9;

/** True if the page can be closed and its command keeps running. */
function isForward({ args: args, exitCode }: OutputPage): boolean {
  return args[0] === 'port-forward' && exitCode === undefined;
}

/** Number of forwarded ports, with or without a page on the screen. */
export function forwardCount({ page, forwards }: Pick<Pages, 'page' | 'forwards'>): number {
  return forwards.length + (page !== undefined && isForward(page) ? 1 : 0);
}

/** Closes the page. Keeps that of a forwarded port among `forwards`. */
export function withoutPage<T extends Pages>(state: T): T {
  const { page, forwards } = state;
  if (page === undefined) return state;
  return { ...state, page: undefined, forwards: isForward(page) ? [...forwards, page] : forwards };
}

/** Adds output to the page of a command. */
export function withOutput<T extends Pages>(state: T, { id, text }: { id: number; text: string }): T {
  const grow = (page: OutputPage): OutputPage => (page.id === id ? grownPage(page, text) : page);
  const { page, tail, forwards } = state;
  return { ...state, page: page && grow(page), tail: tail && grow(tail), forwards: forwards.map(grow) };
}

/** Records the exit of a command. A forwarded port without a page leaves its last line as `message`. */
export function withEnd<T extends Pages & { message: string }>(state: T, end: { id: number; exitCode: number }): T {
  const { id, exitCode } = end;
  const { page, forwards } = state;
  if (page?.id === id) return { ...state, page: { ...page, exitCode } };
  const ended = forwards.find((forward) => forward.id === id);
  if (ended === undefined) return state;
  const message = `exit ${exitCode}: ${commandText(ended.args)}: ${lastLine(ended)}`;
  return { ...state, message, forwards: forwards.filter((forward) => forward !== ended) };
}

/** Keeps the selection within a list that became shorter. */
export function selectForward<T extends ForwardList>(state: T): T {
  return { ...state, selectedForward: Math.max(0, Math.min(state.selectedForward, state.forwards.length - 1)) };
}

/** The forwarded ports but the selected one. */
export function withoutSelected({ forwards, selectedForward }: ForwardList): OutputPage[] {
  return forwards.filter((_forward, index) => index !== selectedForward);
}

/** Puts the page of the selected port on the screen. */
export function withSelectedPage<T extends ForwardList>(state: T): T {
  return { ...state, page: state.forwards[state.selectedForward], forwards: withoutSelected(state) };
}

/** The rows of the list of forwarded ports. */
export function forwardsLines({ forwards, selectedForward }: ForwardList): Line[] {
  const rows = forwards.map((forward, index): Line => {
    const isSelected = index === selectedForward;
    return {
      spans: [
        { text: `${isSelected ? '>' : ' '} ${commandText(forward.args)}`, bold: isSelected },
        { text: `  ${lastLine(forward)}`, color: 'gray' },
      ],
    };
  });
  const none = textLine('  None. f forwards a port of the selected pod.', { color: 'gray' });
  return [textLine(`FORWARDED PORTS ${forwards.length}`, { bold: true }), ...(rows.length === 0 ? [none] : rows)];
}

const lastLine = ({ lines, rest }: OutputPage): string => (rest === '' ? (lines.at(-1) ?? '') : rest);
