import { forwardCount, maxForwards, type Pages } from './forwards.ts';
import type { RunningCommand, ScreenCommands } from './screen-commands.ts';
import type { ViewAction } from './view-state.ts';

/** Maximum characters of output of a command between two frames. Older ones are dropped. */
const maxPendingOutput = 1024 * 1024;

interface Deps {
  commands: Pick<ScreenCommands, 'start'>;
  /** Called when output waits for a frame. */
  onOutput: () => void;
  dispatch: (action: ViewAction) => void;
}

/** The commands in the background: the one whose output is on the page, the followed log, and forwarded ports. */
export class PageCommands {
  private readonly running = new Map<number, RunningCommand>();
  private readonly pending = new Map<number, string>();
  private lastID = 0;

  constructor(private readonly deps: Deps) {}

  /** Opens a page in place of the one in `pages`. */
  start(args: readonly string[], pages: Pages): void {
    const { dispatch } = this.deps;
    if (args[0] === 'port-forward' && forwardCount(pages) >= maxForwards) {
      dispatch({ type: 'messageShown', text: `a screen forwards at most ${maxForwards} ports: F lists them` });
      return;
    }
    this.launch('pageOpened', args);
  }

  /** Opens the log below the events. */
  startTail(args: readonly string[]): void {
    this.launch('tailOpened', args);
  }

  private launch(type: 'pageOpened' | 'tailOpened', args: readonly string[]): void {
    const { commands, onOutput, dispatch } = this.deps;
    this.lastID += 1;
    const id = this.lastID;
    dispatch({ type, id, args });
    const running = commands.start(args, (text) => {
      if (!this.running.has(id)) return;
      this.pending.set(id, ((this.pending.get(id) ?? '') + text).slice(-maxPendingOutput));
      onOutput();
    });
    this.running.set(id, running);
    void running.ended.then((exitCode) => {
      if (!this.running.delete(id)) return;
      this.flushOutput();
      dispatch({ type: 'pageEnded', id, exitCode });
    });
  }

  /** Adds the output so far to the pages. */
  flushOutput(): void {
    const pending = [...this.pending];
    this.pending.clear();
    for (const [id, text] of pending) this.deps.dispatch({ type: 'pageGrew', id, text });
  }

  /** Stops all commands except those of these pages. */
  endAllBut({ page, tail, forwards }: Pages): void {
    const kept = new Set([page, tail, ...forwards].map((each) => each?.id));
    for (const [id, running] of this.running) {
      if (kept.has(id)) continue;
      this.running.delete(id);
      this.pending.delete(id);
      running.end();
    }
  }
}
