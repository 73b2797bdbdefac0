import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { execa } from 'execa';
import { deadlineMs } from './deadline.ts';

/** A real terminal: a separate tmux server, whose control mode reports when something is written to the screen. */
export class VirtualTerminal {
  readonly #server: string;
  readonly #client: ChildProcessByStdio<Writable, Readable, null>;
  readonly #changes = new EventEmitter();

  private constructor(server: string) {
    this.#server = server;
    this.#changes.setMaxListeners(0);
    this.#client = spawn('tmux', ['-L', server, '-C', 'attach'], { stdio: ['pipe', 'pipe', 'ignore'] });
    createInterface({ input: this.#client.stdout }).on('line', () => this.#changes.emit('change'));
  }

  /**
   * Runs a shell command in a terminal of this size. The terminal outlives it, because tmux's control mode may drop the
   * last output of a program that exits.
   */
  static async open(
    command: string,
    { columns = 100, rows = 30, env = process.env }: { columns?: number; rows?: number; env?: NodeJS.ProcessEnv } = {},
  ): Promise<VirtualTerminal> {
    const server = `kts-${process.pid}-${process.hrtime.bigint()}`;
    const size = ['-x', String(columns), '-y', String(rows)];
    await execa(
      'tmux',
      [
        ...['-L', server, '-f', '/dev/null', 'start-server', ';'],
        ...['set', '-g', 'status', 'off', ';'],
        // Only now, because tmux 3.3 crashes if a first window is created while its size is set manually.
        ...['new-session', '-d', ...size, `${command}; exec sleep infinity`, ';', 'set', '-w', 'window-size', 'manual'],
      ],
      { env: { ...env, TMUX: undefined } },
    );
    return new VirtualTerminal(server);
  }

  /**
   * Resolves to the first screen for which `isSo` is true, checked now and after every change, without trailing spaces.
   */
  until(isSo: (screen: string) => boolean): Promise<string> {
    return this.#until(isSo, () => this.screen());
  }

  /** The same, including colour sequences. A program's output may reach the terminal in pieces. */
  untilColored(isSo: (colored: string) => boolean): Promise<string> {
    return this.#until(isSo, () => this.colored());
  }

  async #until(isSo: (screen: string) => boolean, read: () => Promise<string>): Promise<string> {
    const deadline = AbortSignal.timeout(deadlineMs);
    for (;;) {
      const changed = once(this.#changes, 'change', { signal: deadline }).catch(() => undefined);
      const screen = await read();
      if (isSo(screen)) return screen;
      await changed;
      if (deadline.aborted) throw new Error(`the screen never was so: ${isSo.toString()}\n${screen}`);
    }
  }

  async screen(): Promise<string> {
    const { stdout } = await this.#tmux('capture-pane', '-p');
    return stdout;
  }

  /** Returns the screen, including colour sequences. */
  async colored(): Promise<string> {
    const { stdout } = await this.#tmux('capture-pane', '-p', '-e');
    return stdout;
  }

  async type(text: string): Promise<void> {
    await this.#tmux('send-keys', '-l', text);
  }

  /** Presses a key by tmux's name, such as `C-c` or `Enter`. */
  async press(key: string): Promise<void> {
    await this.#tmux('send-keys', key);
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux('resize-window', '-x', String(columns), '-y', String(rows));
  }

  /** Evaluates a tmux format, such as `#{alternate_on}`. */
  async ask(format: string): Promise<string> {
    return (await this.#tmux('display-message', '-p', format)).stdout;
  }

  async close(): Promise<void> {
    this.#client.stdin.end();
    await execa('tmux', ['-L', this.#server, 'kill-server'], { reject: false });
  }

  #tmux(...words: string[]) {
    return execa('tmux', ['-L', this.#server, ...words]);
  }
}
