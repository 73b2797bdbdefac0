import { Writable } from 'node:stream';

/**
 * The stream that ink draws on. In ink's debug mode each write is one whole frame, which goes to `onFrame`; what reaches
 * the terminal, and how, is not left to ink: it would clear the whole terminal for each frame of full height, and draws
 * nothing at all where `CI` is set.
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
