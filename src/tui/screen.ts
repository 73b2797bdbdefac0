import process from 'node:process';
import { type Clock, systemClock } from '../clock.ts';
import type { KubeletEvent } from '../engine/view/events.ts';
import type { EngineView, RemoteEngineView } from '../engine/view/snapshot.ts';
import { errorMessage } from '../errors.ts';
import { commandName } from '../engine/explain/subject.ts';
import { commandText, decideCommand, withFlags } from './command-line.ts';
import { frameLines, frameText } from './frame-lines.ts';
import type { InkFrames } from './ink-frames.tsx';
import { computeKeyCommand, type Key, type Leaving, splitKeys } from './key-bindings.ts';
import type { RunningCommand, ScreenCommands } from './screen-commands.ts';
import { openTerminal, type Terminal, type TerminalOutput } from './terminal.ts';
import { type GuardedProcess, guardTerminal } from './terminal-guard.ts';
import { askTheme, type Palette, paletteOf, type Theme } from './theme.ts';
import { initialViewState, maxEvents, reduce, selectedPod, type ViewAction, type ViewState } from './view-state.ts';

/** A visible screen. */
export interface Screen {
  /** Restores the terminal at once. The engine keeps running. */
  unmount(): void;
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
  /** True if the agent was there before the screen. */
  isAttached?: boolean;
  isReadOnly?: boolean;
  /** With `auto` the terminal is asked, and is dark until it answers. */
  theme?: Theme;
  /** True if this process may use the terminal. After `bg` in a shell the kernel stops a process that does. */
  isInForeground?: () => boolean;
  clock?: Clock;
  /** The process whose end and signals restore the terminal. */
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

/** Least time between two frames. */
const beatMs = 100;
/**
 * Most characters a millisecond for frames that no key asked for, and the longest pause between two. A slow link has
 * long buffers, which would fill with old frames.
 */
const charactersPerMs = 10;
const longestPauseMs = 1000;
/** Ages count in seconds. */
const tickMs = 1000;
/** Time between two looks for the foreground, because a shell need not report it. */
const foregroundPeriodMs = 200;
/** Time between two samples of CPU and memory. */
const samplePeriodMs = 5000;
/** Most characters of output between two frames. Older ones are dropped. */
const maxPendingOutput = 1024 * 1024;

/**
 * INVARIANTS:
 * - events, keys and resizes only change values and request a frame; frames come at most once a beat;
 * - the first frames are drawn without ink, which takes longer to load than all before it;
 * - after `#close` nothing is drawn, no timer is pending, and the terminal is as it was;
 * - nothing is thrown into the engine or a timer: a failure closes the screen and rejects `exited`.
 */
class LiveScreen implements Screen {
  readonly exited: Promise<void>;
  readonly #options: Required<ScreenOptions>;
  #palette: Palette | undefined;
  #terminal: Terminal;
  /** Undefined until it is loaded. */
  #ink: InkFrames | undefined;
  readonly #unsubscribe: () => void;
  readonly #removeGuard: () => void;
  #resolveExited: () => void = ignore;
  #rejectExited: (error: unknown) => void = ignore;
  #state: ViewState;
  #pendingEvents: KubeletEvent[] = [];
  /** True if `#state` has a snapshot from before the last event or tick. */
  #isStale = false;
  #isClosed = false;
  #lastPaintAt = 0;
  #cancelPaint: (() => void) | undefined;
  #paintDue = 0;
  /** Until then only keys cause frames. Monotonic. */
  #calmUntil = 0;
  #cancelTick: () => void;
  #cancelSample: () => void = ignore;
  #running: RunningCommand | undefined;
  #pendingOutput = '';
  /** False while a command uses the terminal, or the shell. */
  #hasTerminal = true;
  #isLent = false;
  #cancelWait: () => void = ignore;

  constructor(options: Required<ScreenOptions>) {
    const { view, stdout, stdin, clock, guarded, theme, logFile, isAttached, isReadOnly } = options;
    this.#options = options;
    this.exited = new Promise((resolve, reject) => {
      this.#resolveExited = resolve;
      this.#rejectExited = reject;
    });
    // A caller need not await `exited`, so its rejection must not end the process.
    this.exited.catch(ignore);
    this.#palette = paletteOf(theme === 'light' ? 'light' : 'dark', stdout);
    this.#state = initialViewState(view.snapshot(), clock.now(), {
      ...sizeOf(stdout),
      logFile,
      isAttached,
      isReadOnly,
    });
    this.#terminal = openTerminal(stdout);
    this.#cancelTick = clock.after(tickMs, this.#tick);
    this.#unsubscribe = view.subscribe(this.#onEvent);
    stdout.on('resize', this.#onResize);
    // These listeners stay, because a write to a lost terminal fails later and must not end the process.
    stdout.on('error', this.#onLeave);
    stdin.on('error', this.#onLeave);
    this.#removeGuard = guardTerminal(this.#onLeave, guarded);
    guarded.on('SIGCONT', this.#onContinue);
    this.#paint();
    void this.#sample();
    // Keys that are typed before ink is loaded must not be echoed.
    if (stdin.isTTY) stdin.setRawMode(true);
    this.#loadInk().catch((error: unknown) => {
      this.#close(error);
    });
  }

  unmount(): void {
    this.#close();
  }

  /** Loads ink while the terminal reports its background. Then ink reads keys and draws. */
  async #loadInk(): Promise<void> {
    const { stdout, stdin, clock, theme } = this.#options;
    const asks = theme === 'auto' && this.#palette !== undefined && stdin.isTTY;
    const [{ mountInk }, found] = await Promise.all([
      import('./ink-frames.tsx'),
      asks ? askTheme({ stdin, stdout, clock }) : undefined,
    ]);
    if (this.#isClosed) return;
    if (found !== undefined) this.#palette = paletteOf(found, stdout);
    this.#ink = mountInk({ stdin, size: () => sizeOf(stdout), onFrame: this.#show, onKey: this.#onKey });
    this.#draw();
    await this.#ink.exited;
    this.#close();
  }

  readonly #show = (frame: string): void => {
    if (this.#isClosed || !this.#hasTerminal) return;
    const pauseMs = Math.min(longestPauseMs, this.#terminal.paint(frame) / charactersPerMs);
    this.#calmUntil = this.#options.clock.monotonic() + pauseMs;
  };

  readonly #onEvent = (event: KubeletEvent): void => {
    this.#pendingEvents.push(event);
    if (this.#pendingEvents.length > 2 * maxEvents) this.#pendingEvents.splice(0, maxEvents);
    this.#isStale = true;
    this.#requestPaint(false);
  };

  readonly #tick = (): void => {
    this.#cancelTick = this.#options.clock.after(tickMs, this.#tick);
    this.#isStale = true;
    this.#requestPaint(false);
  };

  /** Samples until closed, one sample at a time. */
  readonly #sample = async (): Promise<void> => {
    const { view, clock } = this.#options;
    if (!('usage' in view)) return;
    const usage = await view.usage();
    if (this.#isClosed) return;
    this.#dispatch({ type: 'sampled', usage });
    this.#cancelSample = clock.after(samplePeriodMs, () => void this.#sample());
  };

  readonly #onResize = (): void => {
    this.#terminal.invalidate();
    this.#dispatch({ type: 'resized', ...sizeOf(this.#options.stdout) });
  };

  readonly #onKey = (input: string, key: Key): void => {
    for (const press of splitKeys(input, key)) {
      if (this.#state.note !== '') this.#dispatch({ type: 'noted', text: '' });
      const command = computeKeyCommand(this.#state, press);
      if (command?.type === 'left') {
        this.#close();
        this.#options.onLeave(command.leaving);
        return;
      }
      if (command?.type === 'suspended') {
        void this.#suspend();
      } else if (command?.type === 'ran') {
        this.#run(command.words, command.isConfirmed);
      } else if (command?.type === 'saved') {
        void this.#save();
      } else if (command !== undefined) {
        this.#dispatch(command);
        if (this.#state.page === undefined) this.#endCommand();
      }
    }
  };

  #run(words: readonly string[], isConfirmed: boolean): void {
    this.#dispatch({ type: 'promptClosed' });
    const entry = selectedPod(this.#state);
    const { isReadOnly } = this.#state;
    const decision = decideCommand(words, { isReadOnly, isConfirmed, pod: entry && commandName(entry) });
    if (decision.type === 'refuses') {
      this.#dispatch({ type: 'noted', text: decision.message });
      return;
    }
    const whole = withFlags(decision.words, this.#options.commands.flags);
    if (decision.type === 'asks') this.#dispatch({ type: 'runAsked', words: whole });
    else if (decision.type === 'shows') this.#startCommand(whole);
    else void this.#lendTerminal(whole);
  }

  /** Runs a command in the background, and shows its output. */
  #startCommand(words: readonly string[]): void {
    this.#endCommand();
    this.#dispatch({ type: 'pageOpened', words });
    const running = this.#options.commands.start(words, (text) => {
      if (this.#running !== running) return;
      this.#pendingOutput = (this.#pendingOutput + text).slice(-maxPendingOutput);
      this.#requestPaint();
    });
    this.#running = running;
    void running.ended.then((exitCode) => {
      if (this.#running !== running) return;
      this.#takeOutput();
      this.#dispatch({ type: 'pageEnded', exitCode });
    });
  }

  #takeOutput(): void {
    if (this.#pendingOutput === '') return;
    this.#state = reduce(this.#state, { type: 'pageGrew', text: this.#pendingOutput });
    this.#pendingOutput = '';
  }

  #endCommand(): void {
    this.#running?.end();
    this.#running = undefined;
    this.#pendingOutput = '';
  }

  /** Runs a command that uses the terminal, such as a shell, in the place of the screen. */
  async #lendTerminal(words: readonly string[]): Promise<void> {
    const { stdout, commands } = this.#options;
    this.#isLent = true;
    await this.#releaseTerminal();
    stdout.write(`$ ${commandText(words)}\n`);
    const exitCode = await commands.onTerminal(words);
    this.#isLent = false;
    if (this.#isClosed) return;
    this.#onContinue();
    const failed = exitCode === 0 ? '' : `exit ${exitCode}: ${commandText(words)}`;
    this.#dispatch({ type: 'noted', text: failed });
  }

  async #save(): Promise<void> {
    const { commands, clock } = this.#options;
    const { page } = this.#state;
    if (page === undefined) return;
    const words = page.words.join('-').replaceAll(/[^\w.]+/g, '-');
    const time = new Date(clock.now()).toISOString().replaceAll(/[:.]/g, '-');
    const text = [...page.lines, page.rest].join('\n');
    const saved = commands.save(`kubelet-ts-${words.slice(0, 100)}-${time}.txt`, text);
    const note = await saved.then(
      (path) => `saved: ${path}`,
      (error: unknown) => `not saved: ${errorMessage(error)}`,
    );
    this.#dispatch({ type: 'noted', text: note });
  }

  async #releaseTerminal(): Promise<void> {
    const { stdin } = this.#options;
    this.#hasTerminal = false;
    // React releases the keyboard after this frame.
    this.#paint();
    await new Promise(setImmediate);
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.pause();
    this.#terminal.restore();
  }

  /**
   * Handles ^Z as a shell expects: restores the terminal and stops this process until `fg`. The agent is another
   * process.
   */
  async #suspend(): Promise<void> {
    await this.#releaseTerminal();
    this.#options.guarded.kill(0, 'SIGTSTP');
  }

  /**
   * After any stop of this process, because a shell used the terminal meanwhile. In the background it only waits. There
   * a shell could miss that the kernel stopped it, and `fg` would not continue it.
   */
  readonly #onContinue = (): void => {
    const { stdout, stdin, clock, isInForeground } = this.#options;
    if (this.#isClosed || this.#isLent) return;
    this.#cancelWait();
    if (!isInForeground()) {
      this.#hasTerminal = false;
      this.#cancelWait = clock.after(foregroundPeriodMs, this.#onContinue);
      return;
    }
    this.#hasTerminal = true;
    if (stdin.isTTY) stdin.setRawMode(true);
    this.#terminal.restore();
    this.#terminal = openTerminal(stdout);
    this.#isStale = true;
    this.#requestPaint();
  };

  readonly #onLeave = (): void => {
    this.#close();
  };

  #dispatch(action: ViewAction): void {
    this.#state = reduce(this.#state, action);
    this.#requestPaint();
  }

  #requestPaint(isUrgent = true): void {
    if (this.#isClosed) return;
    const { clock } = this.#options;
    const now = clock.monotonic();
    const due = Math.max(now, this.#lastPaintAt + beatMs, isUrgent ? 0 : this.#calmUntil);
    if (this.#cancelPaint !== undefined && this.#paintDue <= due) return;
    this.#cancelPaint?.();
    this.#paintDue = due;
    this.#cancelPaint = clock.after(due - now, this.#paint);
  }

  readonly #paint = (): void => {
    const { clock } = this.#options;
    this.#cancelPaint = undefined;
    this.#lastPaintAt = clock.monotonic();
    try {
      this.#refresh();
      this.#draw();
    } catch (error) {
      this.#close(error);
    }
  };

  #draw(): void {
    const { columns, rows } = this.#state;
    const palette = this.#palette;
    const lines = frameLines(this.#state);
    if (this.#ink === undefined) this.#show(frameText(lines, columns, palette));
    else this.#ink.draw({ lines, columns, rows, palette, hasKeys: this.#hasTerminal });
  }

  #refresh(): void {
    this.#takeOutput();
    if (!this.#isStale) {
      return;
    }
    this.#isStale = false;
    const events = this.#pendingEvents;
    this.#pendingEvents = [];
    const { view, clock } = this.#options;
    const silence = 'silence' in view ? view.silence() : undefined;
    this.#state = reduce(this.#state, {
      type: 'refreshed',
      snapshot: view.snapshot(),
      ...(silence && { silence }),
      events,
      now: clock.now(),
    });
  }

  #close(error?: unknown): void {
    if (this.#isClosed) {
      return;
    }
    this.#isClosed = true;
    const { stdout, stdin, guarded } = this.#options;
    this.#unsubscribe();
    this.#cancelTick();
    this.#cancelSample();
    this.#cancelWait();
    this.#endCommand();
    this.#cancelPaint?.();
    stdout.off('resize', this.#onResize);
    this.#terminal.restore();
    // ink does this too, but too late for a process that is about to end.
    if (stdin.isTTY) {
      stdin.setRawMode(false);
    }
    this.#ink?.unmount();
    this.#removeGuard();
    guarded.off('SIGCONT', this.#onContinue);
    if (error === undefined) {
      this.#resolveExited();
    } else {
      this.#rejectExited(error);
    }
  }
}

function sizeOf(stdout: TerminalOutput): { columns: number; rows: number } {
  return { columns: stdout.columns, rows: stdout.rows };
}

function ignore(): void {
  // Nothing to do.
}
