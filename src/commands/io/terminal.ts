import { on } from 'node:events';
import { constants } from 'node:os';
import type { SessionStreams, TerminalSize } from '../../cri/streaming/container-session.ts';
import type { CommandDeps, OutputStream } from './deps.ts';

export interface Terminal {
  /** The terminal as streams of a session. */
  readonly sessionStreams: Pick<SessionStreams, 'tty' | 'resize' | 'signal'>;
  /** Exit code. Set if a signal stopped the session. */
  readonly exitCode: number | undefined;
  /** Restores the terminal. */
  close(): void;
}

/** Signals that stop the session, so that the terminal does not stay raw. The command gets ^C and ^\ as input. */
const stopSignals = ['SIGHUP', 'SIGTERM'] as const;

/**
 * Connects the user's terminal with the command: every key and every change of size. Does nothing without `tty`,
 * without `stdin`, or if stdin is not a terminal. kubectl: StreamOptions.SetupTTY
 */
export function openTerminal(
  { stdin, stdout, stderr }: CommandDeps,
  wanted: { stdin: boolean; tty: boolean },
): Terminal {
  const plain: Terminal = { sessionStreams: { tty: false }, exitCode: undefined, close: () => undefined };
  if (!wanted.tty || !wanted.stdin) return plain;
  if (stdin.isTTY !== true) {
    stderr.write('Unable to use a TTY - input is not a terminal or the right kind of file\n');
    return plain;
  }
  const session = new AbortController();
  let exitCode: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    exitCode = 128 + constants.signals[signal];
    session.abort(new Error(`stopped by ${signal}`));
  };
  const restore = (): void => {
    stdin.setRawMode?.(false);
  };
  const sizes = new AbortController();
  stdin.setRawMode?.(true);
  process.on('exit', restore);
  for (const signal of stopSignals) process.on(signal, onSignal);
  return {
    sessionStreams: { tty: true, resize: sizesOf(stdout, sizes.signal), signal: session.signal },
    get exitCode() {
      return exitCode;
    },
    close: () => {
      sizes.abort();
      restore();
      process.off('exit', restore);
      for (const signal of stopSignals) process.off(signal, onSignal);
    },
  };
}

async function* sizesOf(stdout: OutputStream, signal: AbortSignal): AsyncGenerator<TerminalSize, void> {
  // Listens before the first size is sent, so that no change is missed.
  const changes = on(stdout, 'resize', { signal });
  const size = (): TerminalSize[] =>
    stdout.columns === undefined || stdout.rows === undefined ? [] : [{ width: stdout.columns, height: stdout.rows }];
  yield* size();
  try {
    while ((await changes.next()).done !== true) yield* size();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** True for a terminal without NO_COLOR. An empty NO_COLOR is ignored: https://no-color.org */
export function isColoured({ isTTY }: Pick<OutputStream, 'isTTY'>): boolean {
  return isTTY === true && (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb';
}
