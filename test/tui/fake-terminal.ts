import { EventEmitter, once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { KubeletEvent } from '../../src/engine/view/events.ts';
import type { EngineSnapshot, PodUsage, RemoteEngineView, Silence } from '../../src/engine/view/snapshot.ts';
import type { RunningCommand, ScreenCommands } from '../../src/tui/screen-commands.ts';
import { displayWidth } from '../../src/text/display-width.ts';
import type { TerminalOutput } from '../../src/tui/terminal.ts';
import type { GuardedProcess } from '../../src/tui/terminal-guard.ts';
import { FakeClock } from '../fakes/fake-clock.ts';

// eslint-disable-next-line no-control-regex -- a terminal is made of these
const sequences = /\u001b\[([\d;?]*)([A-Za-z])|[^\u001b]/gu;

/** A terminal that keeps what was written and what a user would see. */
export class FakeStdout extends EventEmitter implements TerminalOutput {
  columns: number;
  rows: number;
  colors = false;
  colorCount = 256;
  readonly writes: string[] = [];
  /** Characters by row and column. A wide one is followed by an empty one. */
  #cells: string[][] = [];
  #cursor = { row: 0, column: 0 };

  constructor(columns: number, rows: number) {
    super();
    this.columns = columns;
    this.rows = rows;
  }

  hasColors(count = 16): boolean {
    return this.colors && count <= this.colorCount;
  }

  write(text: string): boolean {
    this.writes.push(text);
    for (const [character, parameters = '', command] of text.matchAll(sequences)) {
      if (command === 'J') this.#cells = [];
      else if (command === 'K') this.#row().length = Math.min(this.#row().length, this.#cursor.column);
      else if (command === 'H') {
        const [row = 1, column = 1] = parameters.split(';').map(Number);
        this.#cursor = { row: row - 1, column: column - 1 };
      } else if (command === undefined) this.#put(character);
    }
    return true;
  }

  #put(character: string): void {
    const row = this.#row();
    const { column } = this.#cursor;
    while (row.length < column) row.push(' ');
    const width = displayWidth(character);
    if (width === 0) row[column - 1] = `${row[column - 1] ?? ''}${character}`;
    else row.splice(column, width, character, ...Array.from({ length: width - 1 }, () => ''));
    this.#cursor.column += width;
  }

  #row(): string[] {
    return (this.#cells[this.#cursor.row] ??= []);
  }

  resize(columns: number, rows: number): void {
    this.columns = columns;
    this.rows = rows;
    this.emit('resize');
  }

  /** The rows as they are seen, without blanks at their ends. */
  screen(): string[] {
    return Array.from({ length: this.rows }, (_, row) => (this.#cells[row] ?? []).join('').trimEnd());
  }
}

/** A keyboard. */
export class FakeStdin extends PassThrough {
  readonly isTTY: boolean;
  isRaw = false;

  constructor(isTTY = true) {
    super();
    this.isTTY = isTTY;
  }

  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw;
    this.emit(isRaw ? 'raw' : 'cooked');
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  /** Resolves when the screen listens to keys. */
  async ready(): Promise<void> {
    if (this.listenerCount('readable') > 0) return;
    await new Promise<void>((resolve) => {
      const onListener = (event: string): void => {
        if (event !== 'readable') return;
        this.off('newListener', onListener);
        resolve();
      };
      this.on('newListener', onListener);
    });
  }

  /** Resolves when the screen let go of the keys. */
  async cooked(): Promise<void> {
    if (this.isRaw) {
      await once(this, 'cooked');
    }
  }

  asReadStream(): NodeJS.ReadStream {
    return this as unknown as NodeJS.ReadStream;
  }
}

/** A clock that tells when somebody sets a timer, which is how the screen asks for a frame. */
export class ScreenClock extends FakeClock {
  readonly #timers = new EventEmitter();

  override after(ms: number, fn: () => void): () => void {
    const cancel = super.after(ms, fn);
    this.#timers.emit('set');
    return cancel;
  }

  async nextTimer(): Promise<void> {
    await once(this.#timers, 'set');
  }
}

/** An engine whose snapshot is set by hand. */
export class FakeView implements RemoteEngineView {
  current: EngineSnapshot;
  lost: Silence | undefined;
  snapshotCount = 0;
  readonly #listeners = new Set<(event: KubeletEvent) => void>();

  constructor(snapshot: EngineSnapshot) {
    this.current = snapshot;
  }

  silence(): Silence | undefined {
    return this.lost;
  }

  usage(): Promise<PodUsage[]> {
    // Without samples there is no further frame.
    return new Promise(() => undefined);
  }

  snapshot(): EngineSnapshot {
    this.snapshotCount += 1;
    return this.current;
  }

  subscribe(listener: (event: KubeletEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(...events: KubeletEvent[]): void {
    for (const event of events) {
      this.#listeners.forEach((listener) => {
        listener(event);
      });
    }
  }

  listenerCount(): number {
    return this.#listeners.size;
  }
}

/** Command lines that are kept, and end when the test says so. */
export class FakeCommands implements ScreenCommands {
  readonly flags: readonly string[] = ['--root-dir', '/k'];
  readonly started: { words: readonly string[]; say: (text: string) => void; end: (code: number) => void }[] = [];
  readonly ended: (readonly string[])[] = [];
  readonly terminal: (readonly string[])[] = [];
  readonly saved: string[] = [];

  start(words: readonly string[], say: (text: string) => void): RunningCommand {
    const { promise, resolve } = deferred<number>();
    this.started.push({ words, say, end: resolve });
    return { ended: promise, end: () => this.ended.push(words) };
  }

  onTerminal(words: readonly string[]): Promise<{ exitCode: number; message: string }> {
    this.terminal.push(words);
    return Promise.resolve({ exitCode: 3, message: 'error: no sh in it' });
  }

  save(name: string, text: string): Promise<string> {
    this.saved.push(text);
    return Promise.resolve(`/root/${name}`);
  }
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

/** A process that only remembers how it was killed. */
export class FakeProcess extends EventEmitter implements GuardedProcess {
  readonly pid = 4242;
  readonly kills: [pid: number, signal: string][] = [];

  kill(pid: number, signal: string): void {
    this.kills.push([pid, signal]);
    this.emit('killed');
  }
}
