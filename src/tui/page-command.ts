import type { RunningCommand, ScreenCommands } from './screen-commands.ts';
import type { ViewAction } from './view-state.ts';

/** Most characters of output between two frames. Older ones are dropped. */
const maxPendingOutput = 1024 * 1024;

interface Deps {
  commands: Pick<ScreenCommands, 'start'>;
  /** Called when output waits for a frame. */
  onOutput: () => void;
  dispatch: (action: ViewAction) => void;
}

/** The command in the background whose output is on the page. The next one ends it. */
export class PageCommand {
  readonly #deps: Deps;
  #running: RunningCommand | undefined;
  #pending = '';

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  start(words: readonly string[]): void {
    const { commands, onOutput, dispatch } = this.#deps;
    this.end();
    dispatch({ type: 'pageOpened', words });
    const running = commands.start(words, (text) => {
      if (this.#running !== running) return;
      this.#pending = (this.#pending + text).slice(-maxPendingOutput);
      onOutput();
    });
    this.#running = running;
    void running.ended.then((exitCode) => {
      if (this.#running !== running) return;
      this.takeOutput();
      dispatch({ type: 'pageEnded', exitCode });
    });
  }

  /** Puts the output so far on the page. */
  takeOutput(): void {
    if (this.#pending === '') return;
    const text = this.#pending;
    this.#pending = '';
    this.#deps.dispatch({ type: 'pageGrew', text });
  }

  end(): void {
    this.#running?.end();
    this.#running = undefined;
    this.#pending = '';
  }
}
