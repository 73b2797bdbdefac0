import { Writable } from 'node:stream';

/**
 * The stream that ink draws on. In ink's debug mode each write is one whole frame, passed to `onFrame`. ink 6, the last
 * for Node 20, does not paint our terminal itself. At full height it clears the screen and its history for each frame,
 * with every option. It draws nothing where `CI` is set. It queues frames for a slow terminal, where ours gets the
 * newest one.
 */
export class FrameStream extends Writable {
  readonly #size: () => { columns: number; rows: number };
  readonly #onFrame: (frame: string) => void;

  constructor(size: () => { columns: number; rows: number }, onFrame: (frame: string) => void) {
    super({ decodeStrings: false });
    this.#size = size;
    this.#onFrame = onFrame;
  }

  get columns(): number {
    return this.#size().columns;
  }

  get rows(): number {
    return this.#size().rows;
  }

  override _write(chunk: string | Buffer, _encoding: string, callback: () => void): void {
    const frame = chunk.toString();
    if (frame !== '') {
      this.#onFrame(frame);
    }
    callback();
  }
}
