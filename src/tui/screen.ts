import process from 'node:process';
import { type Clock, systemClock } from '../clock.ts';
import type { KubeletEvent } from '../engine/view/events.ts';
import type { EngineView, RemoteEngineView } from '../engine/view/snapshot.ts';
import { errorMessage } from '../errors.ts';
import { commandText, decideCommand, podArgument, runningContainer, withFlags } from './command-line.ts';
import { frameOf } from './frame-lines.ts';
import { FramePace } from './frame-pace.ts';
import { ScreenTerminal } from './screen-terminal.ts';
import { awaitsAnswer, computeKeyCommand, type Key, type Leaving, splitKeys } from './key-bindings.ts';
import { PageCommands } from './page-commands.ts';
import type { ScreenCommands } from './screen-commands.ts';
import type { TerminalOutput } from './terminal.ts';
import type { GuardedProcess } from './terminal-guard.ts';
import { queryTheme, type Palette, paletteOf, type Theme } from './theme.ts';
import {
  initialViewState,
  maxEvents,
  reduce,
  selectedPod,
  type ViewAction,
  type ViewState,
  wantedTail,
} from './view-state.ts';

/** A visible screen. */
export interface Screen {
  /** Shows a snapshot that arrived without an event. */
  refresh(): void;
  /** Restores the terminal at once. The engine keeps running. */
  unmount(): void;
  /** True while a command uses the terminal, whose keys signal this process too. */
  readonly isLent: boolean;
  /**
   * Resolves when the terminal was restored: the user left, a signal came, or the terminal was lost. Rejects if the
   * screen failed.
   */
  readonly exited: Promise<void>;
}

export interface ScreenOptions {
  view: EngineView | RemoteEngineView;
  stdout: TerminalOutput;
  stdin: NodeJS.ReadStream;
  commands: ScreenCommands;
  /** Called after the user left and the terminal was restored. The screen itself never stops a pod or the agent. */
  onLeave: (leaving: Leaving) => void;
  /** The agent's log file, shown to the user. */
  logFile?: string;
  /** True if the agent was running before the screen. */
  isAttached?: boolean;
  isReadOnly?: boolean;
  /** With `auto`, queries the terminal, and assumes dark until it answers. */
  theme?: Theme;
  /** True if this process may use the terminal. After `bg` in a shell the kernel stops a process that does. */
  isInForeground?: () => boolean;
  clock?: Clock;
  /** The process whose exit and signals restore the terminal. */
  guarded?: GuardedProcess;
}

/** Shows the node on the whole terminal until the user leaves. No other code may write to the terminal meanwhile. */
export function runScreen(options: ScreenOptions): Screen {
  return new LiveScreen({
    clock: systemClock,
    guarded: process,
    logFile: '',
    isAttached: false,
    isReadOnly: false,
    theme: 'dark',
    isInForeground: () => true,
    ...options,
  });
}

/** Ages count in seconds. */
const tickMs = 1000;
/** Maximum number of keys that a person may type at once, as on a slow link. Longer input counts as pasted text. */
const maxKeysTogether = 2;
/** Milliseconds between two samples of CPU and memory. */
const samplePeriodMs = 5000;
/** Milliseconds for which a pod must be selected before its log is followed. */
const tailDelayMs = 500;

/**
 * INVARIANTS:
 * - events, keys and resizes only change values and request a frame; `FramePace` decides when it is drawn;
 * - the first frames come before ink, which takes longer to load than everything before it;
 * - after `#close` nothing is drawn, no timer is pending, and the terminal is as it was;
 * - nothing is thrown into the engine or a timer: a failure closes the screen and rejects `exited`.
 */
class LiveScreen implements Screen {
  readonly exited: Promise<void>;
  private readonly terminal: ScreenTerminal;
  private readonly commands: PageCommands;
  private readonly pace: FramePace;
  private readonly unsubscribe: () => void;
  private palette: Palette | undefined;
  private resolveExited: () => void = ignore;
  private rejectExited: (error: unknown) => void = ignore;
  private state: ViewState;
  private pendingEvents: KubeletEvent[] = [];
  /** True if `#state` has a snapshot from before the last event or tick. */
  private isStale = false;
  private isClosed = false;
  private cancelFrame: (() => void) | undefined;
  /** When the requested frame is due. Monotonic. */
  private frameDue = 0;
  private cancelTick: () => void;
  private cancelSample: () => void = ignore;
  private cancelTail: () => void = ignore;
  /** The log that is followed, or will be in a moment. */
  private tailKey: string | undefined;

  constructor(private readonly options: Required<ScreenOptions>) {
    const { view, stdout, stdin, clock, guarded, theme, logFile, isAttached, isReadOnly } = options;
    this.exited = new Promise((resolve, reject) => {
      this.resolveExited = resolve;
      this.rejectExited = reject;
    });
    // A caller need not await `exited`, so its rejection must not stop the process.
    this.exited.catch(ignore);
    this.palette = paletteOf(theme === 'light' ? 'light' : 'dark', stdout);
    const silence = 'silence' in view ? view.silence() : undefined;
    this.state = initialViewState(view.snapshot(), clock.now(), {
      silence,
      ...sizeOf(stdout),
      logFile,
      isAttached,
      isReadOnly,
    });
    this.pace = new FramePace(clock);
    this.terminal = new ScreenTerminal({
      ...{ stdout, stdin, clock, guarded, isInForeground: options.isInForeground, onKey: this.onKey },
      onBack: () => {
        this.refresh();
      },
      onEnd: this.onEnd,
    });
    this.commands = new PageCommands({
      commands: options.commands,
      onOutput: () => {
        this.requestFrame();
      },
      dispatch: this.dispatch,
    });
    this.cancelTick = clock.after(tickMs, this.tick);
    this.unsubscribe = view.subscribe(this.onEvent);
    stdout.on('resize', this.onResize);
    this.showFrame();
    this.followLog();
    void this.sample();
    this.terminal.silenceKeys();
    this.mountInk().then(this.onEnd, (error: unknown) => {
      this.close(error);
    });
  }

  refresh(): void {
    this.isStale = true;
    this.requestFrame();
  }

  unmount(): void {
    this.close();
  }

  get isLent(): boolean {
    return this.terminal.isLent;
  }

  /** Loads ink while the terminal reports its background. Then ink draws and reads keys until the screen is closed. */
  private async mountInk(): Promise<void> {
    const { stdout, stdin, clock, theme } = this.options;
    const asks = theme === 'auto' && this.palette !== undefined && stdin.isTTY;
    const [{ mountInkScreen }, found] = await Promise.all([
      import('./ink-screen.tsx'),
      asks ? queryTheme({ stdin, stdout, clock }) : undefined,
    ]);
    if (found !== undefined) {
      this.palette = paletteOf(found, stdout);
      this.requestFrame();
    }
    await this.terminal.mount(mountInkScreen);
  }

  private readonly onEvent = (event: KubeletEvent): void => {
    this.pendingEvents.push(event);
    if (this.pendingEvents.length > 2 * maxEvents) this.pendingEvents.splice(0, maxEvents);
    this.isStale = true;
    this.requestFrame({ isOfKey: false });
  };

  private readonly tick = (): void => {
    this.cancelTick = this.options.clock.after(tickMs, this.tick);
    this.isStale = true;
    this.requestFrame({ isOfKey: false });
  };

  /** Samples until closed, one sample at a time. */
  private readonly sample = async (): Promise<void> => {
    const { view, clock } = this.options;
    if (!('usage' in view)) return;
    const usage = await view.usage();
    if (this.isClosed) return;
    this.dispatch({ type: 'sampled', usage });
    this.cancelSample = clock.after(samplePeriodMs, () => void this.sample());
  };

  private readonly onResize = (): void => {
    this.terminal.invalidate();
    this.dispatch({ type: 'resized', ...sizeOf(this.options.stdout) });
  };

  private readonly onEnd = (): void => {
    this.close();
  };

  private readonly onKey = (input: string, key: Key): void => {
    const presses = splitKeys(input, key);
    for (const press of presses) {
      // Pasted text must not answer a question, not even one that it opened.
      if (presses.length > maxKeysTogether && awaitsAnswer(this.state)) return;
      if (this.state.message !== '') this.dispatch({ type: 'messageShown', text: '' });
      const command = computeKeyCommand(this.state, press);
      if (command?.type === 'left') {
        this.close();
        this.options.onLeave(command.leaving);
        return;
      }
      if (command?.type === 'suspended') {
        void this.terminal.suspend();
      } else if (command?.type === 'ran') {
        this.run(command.args, command.isConfirmed);
      } else if (command?.type === 'saved') {
        void this.save();
      } else if (command !== undefined) {
        this.dispatch(command);
      }
    }
  };

  private run(args: readonly string[], isConfirmed: boolean): void {
    this.dispatch({ type: 'promptClosed' });
    const entry = selectedPod(this.state);
    const { isReadOnly } = this.state;
    const selected = { pod: entry && podArgument(entry), container: entry && runningContainer(entry) };
    const decision = decideCommand(args, { isReadOnly, isConfirmed, ...selected });
    if (decision.type === 'refuses') {
      this.dispatch({ type: 'messageShown', text: decision.message });
      return;
    }
    const whole = withFlags(decision.args, this.options.commands.flags);
    if (decision.type === 'asks') this.dispatch({ type: 'runAsked', args: whole });
    else if (decision.type === 'shows') this.commands.start(whole, this.state);
    else void this.runOnTerminal(whole);
  }

  /** Runs a command that uses the terminal, such as a shell, instead of the screen. */
  private async runOnTerminal(args: readonly string[]): Promise<void> {
    const { exitCode, message } = await this.terminal.lend((stdout) => {
      stdout.write(`$ ${commandText(args)}\n`);
      return this.options.commands.onTerminal(args);
    });
    // The reason comes first, because the line is cut at the width of the screen.
    const failed = `${message === '' ? `exit ${exitCode}` : message}: ${commandText(args)}`;
    this.dispatch({ type: 'messageShown', text: exitCode === 0 ? '' : failed });
  }

  private async save(): Promise<void> {
    const { commands, clock } = this.options;
    const { page } = this.state;
    if (page === undefined) return;
    const name = page.args.join('-').replaceAll(/[^\w.]+/g, '-');
    const time = new Date(clock.now()).toISOString().replaceAll(/[:.]/g, '-');
    const text = [...page.lines, page.rest].join('\n');
    const saved = commands.save(`kubelet-ts-${name.slice(0, 100)}-${time}.txt`, text);
    const note = await saved.then(
      (path) => `saved: ${path}`,
      (error: unknown) => `not saved: ${errorMessage(error)}`,
    );
    this.dispatch({ type: 'messageShown', text: note });
  }

  private readonly dispatch = (action: ViewAction): void => {
    this.state = reduce(this.state, action);
    this.commands.endAllBut(this.state);
    this.followLog();
    this.requestFrame();
  };

  /** Follows the log of the selected pod once it has been selected for a moment, because each log is a process. */
  private followLog(): void {
    const wanted = wantedTail(this.state);
    if (wanted?.key === this.tailKey) return;
    this.tailKey = wanted?.key;
    this.cancelTail();
    this.dispatch({ type: 'tailClosed' });
    if (wanted === undefined) return;
    const { commands, clock } = this.options;
    this.cancelTail = clock.after(tailDelayMs, () => {
      this.commands.startTail(withFlags(['logs', '-f', '--tail', '50', wanted.pod], commands.flags));
    });
  }

  /** An earlier frame replaces the requested one. */
  private requestFrame({ isOfKey = true } = {}): void {
    if (this.isClosed) return;
    const { clock } = this.options;
    const pauseMs = this.pace.pauseMs({ isOfKey });
    const due = clock.monotonic() + pauseMs;
    if (this.cancelFrame !== undefined && this.frameDue <= due) return;
    this.cancelFrame?.();
    this.frameDue = due;
    this.cancelFrame = clock.after(pauseMs, this.showFrame);
  }

  private readonly showFrame = (): void => {
    try {
      this.commands.flushOutput();
      this.redrawNow();
      this.cancelFrame?.();
      this.cancelFrame = undefined;
      this.pace.recordFrame(this.terminal.paint(frameOf(this.state, this.palette)));
    } catch (error) {
      this.close(error);
    }
  };

  private redrawNow(): void {
    if (!this.isStale) return;
    this.isStale = false;
    const events = this.pendingEvents;
    this.pendingEvents = [];
    const { view, clock } = this.options;
    const silence = 'silence' in view ? view.silence() : undefined;
    this.state = reduce(this.state, {
      type: 'refreshed',
      snapshot: view.snapshot(),
      ...(silence && { silence }),
      events,
      now: clock.now(),
    });
    this.followLog();
  }

  private close(error?: unknown): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.unsubscribe();
    this.cancelTick();
    this.cancelSample();
    this.cancelTail();
    this.commands.endAllBut({ page: undefined, tail: undefined, forwards: [] });
    this.cancelFrame?.();
    this.options.stdout.off('resize', this.onResize);
    this.terminal.close();
    if (error === undefined) this.resolveExited();
    else this.rejectExited(error);
  }
}

function sizeOf(stdout: TerminalOutput): { columns: number; rows: number } {
  return { columns: stdout.columns, rows: stdout.rows };
}

function ignore(): void {
  // Nothing to do.
}
