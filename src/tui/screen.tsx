import process from 'node:process';
import { type Instance, type Key, render } from 'ink';
import { type Clock, systemClock } from '../clock.ts';
import type { KubeletEvent } from '../engine/view/events.ts';
import type { EngineView, RemoteEngineView } from '../engine/view/snapshot.ts';
import { App } from './App.tsx';
import { FrameStream } from './frame-stream.ts';
import { computeKeyCommand, type Leaving, splitKeys } from './key-bindings.ts';
import { openTerminal, type Terminal, type TerminalOutput } from './terminal.ts';
import { type GuardedProcess, guardTerminal } from './terminal-guard.ts';
import { initialViewState, reduce, type ViewAction, type ViewState } from './view-state.ts';

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
  /** Called after the user left and the terminal was restored. The screen itself never stops a pod or the agent. */
  onLeave: (leaving: Leaving) => void;
  /** The agent's log file, shown to the user. */
  logFile?: string;
  /** True if the agent was there before the screen. */
  isAttached?: boolean;
  isReadOnly?: boolean;
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
    ...options,
  });
}

/** Least time between two frames. */
const beatMs = 100;
/** Ages count in seconds. */
const tickMs = 1000;
/** Time between two samples of CPU and memory. */
const samplePeriodMs = 5000;

/**
 * INVARIANTS:
 * - events, keys and resizes only change values and request a frame; frames come at most once a beat;
 * - after `#close` nothing is drawn, no timer is pending, and the terminal is as it was;
 * - nothing is thrown into the engine or a timer: a failure closes the screen and rejects `exited`.
 */
class LiveScreen implements Screen {
  readonly exited: Promise<void>;
  readonly #options: Required<ScreenOptions>;
  readonly #hasColors: boolean;
  #terminal: Terminal;
  readonly #ink: Instance;
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
  #cancelTick: () => void;
  #cancelSample: () => void = ignore;

  constructor(options: Required<ScreenOptions>) {
    const { view, stdout, stdin, clock, guarded, logFile, isAttached, isReadOnly } = options;
    this.#options = options;
    this.exited = new Promise((resolve, reject) => {
      this.#resolveExited = resolve;
      this.#rejectExited = reject;
    });
    // A caller need not await `exited`, so its rejection must not end the process.
    this.exited.catch(ignore);
    this.#hasColors = stdout.hasColors();
    this.#state = initialViewState(view.snapshot(), clock.now(), {
      ...sizeOf(stdout),
      logFile,
      isAttached,
      isReadOnly,
    });
    this.#terminal = openTerminal(stdout);
    this.#ink = this.#renderNothing();
    this.#ink.waitUntilExit().then(this.#onLeave, (error: unknown) => {
      this.#close(error);
    });
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
  }

  unmount(): void {
    this.#close();
  }

  /** ink loses an error in its first frame, because its exit is not awaited yet. So that frame is empty. */
  #renderNothing(): Instance {
    const { stdout, stdin } = this.#options;
    const frames = new FrameStream(
      () => sizeOf(stdout),
      (frame) => {
        if (!this.#isClosed) {
          this.#terminal.paint(frame);
        }
      },
    );
    return render(null, {
      // ink only writes and reads the size.
      stdout: frames as unknown as NodeJS.WriteStream,
      stdin,
      debug: true,
      exitOnCtrlC: false,
      patchConsole: false,
      isScreenReaderEnabled: false,
    });
  }

  readonly #onEvent = (event: KubeletEvent): void => {
    this.#pendingEvents.push(event);
    this.#isStale = true;
    this.#requestPaint();
  };

  readonly #tick = (): void => {
    this.#cancelTick = this.#options.clock.after(tickMs, this.#tick);
    this.#isStale = true;
    this.#requestPaint();
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
      const command = computeKeyCommand(this.#state, press);
      if (command?.type === 'left') {
        this.#close();
        this.#options.onLeave(command.leaving);
        return;
      }
      if (command?.type === 'suspended') {
        this.#suspend();
      } else if (command !== undefined) {
        this.#dispatch(command);
      }
    }
  };

  /**
   * Handles ^Z as a shell expects: restores the terminal and stops this process until `fg`. The agent is another
   * process.
   */
  #suspend(): void {
    const { stdin, guarded } = this.#options;
    this.#terminal.restore();
    if (stdin.isTTY) {
      stdin.setRawMode(false);
    }
    guarded.kill(0, 'SIGTSTP');
  }

  /** After any stop of this process, because a shell used the terminal meanwhile. */
  readonly #onContinue = (): void => {
    const { stdout, stdin } = this.#options;
    if (stdin.isTTY) {
      stdin.setRawMode(true);
    }
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

  #requestPaint(): void {
    if (this.#isClosed || this.#cancelPaint !== undefined) {
      return;
    }
    const { clock } = this.#options;
    this.#cancelPaint = clock.after(Math.max(0, this.#lastPaintAt + beatMs - clock.monotonic()), this.#paint);
  }

  readonly #paint = (): void => {
    const { clock } = this.#options;
    this.#cancelPaint = undefined;
    this.#lastPaintAt = clock.monotonic();
    try {
      this.#refresh();
      this.#ink.rerender(<App state={this.#state} hasColors={this.#hasColors} onKey={this.#onKey} />);
    } catch (error) {
      this.#close(error);
    }
  };

  #refresh(): void {
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
    this.#cancelPaint?.();
    stdout.off('resize', this.#onResize);
    this.#terminal.restore();
    // ink does this too, but too late for a process that is about to end.
    if (stdin.isTTY) {
      stdin.setRawMode(false);
    }
    this.#ink.unmount();
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
