import { Transform, type TransformCallback } from 'node:stream';
import { UserError } from '../../errors.ts';

/** As in docker and podman; kubectl has none. */
export const defaultDetachKeys = 'ctrl-p,ctrl-q';

/** The bytes of a key sequence such as `ctrl-p,ctrl-q`, which may be empty. Throws a `UserError` if it is invalid. */
export function parseDetachKeys(text: string): Buffer {
  if (text === '') return Buffer.alloc(0);
  return Buffer.from(text.split(',').map((key) => parseKey(key, text)));
}

function parseKey(key: string, text: string): number {
  if (/^[!-~]$/.test(key)) return key.charCodeAt(0);
  const control = /^ctrl-([a-z@[\\\]^_])$/.exec(key.toLowerCase())?.[1];
  if (control !== undefined) return control.toUpperCase().charCodeAt(0) & 0x1f;
  throw new UserError(`--detach-keys "${text}": "${key}" is not a key`, {
    hint: 'Write keys as a or ctrl-a, with commas between them, such as ctrl-p,ctrl-q.',
  });
}

/**
 * Passes input on. Calls `detach` once `keys` are typed, and passes nothing on from there. Holds back a prefix of
 * `keys` until it is clear.
 */
export class DetachFilter extends Transform {
  private readonly keys: Buffer;
  private readonly detach: () => void;
  /** Number of bytes of `keys` that have arrived and are held back. */
  private matched = 0;
  private isDetached = false;

  constructor(keys: Buffer, detach: () => void) {
    super();
    this.keys = keys;
    this.detach = detach;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const passed: number[] = [];
    for (const byte of chunk) if (!this.isDetached) this.pass(byte, passed);
    done(null, passed.length > 0 ? Buffer.from(passed) : undefined);
  }

  override _flush(done: TransformCallback): void {
    done(null, this.isDetached ? undefined : this.keys.subarray(0, this.matched));
  }

  private pass(byte: number, passed: number[]): void {
    if (this.keys.length === 0) {
      passed.push(byte);
      return;
    }
    if (byte !== this.keys[this.matched]) {
      passed.push(...this.keys.subarray(0, this.matched));
      this.matched = 0;
    }
    if (byte !== this.keys[this.matched]) {
      passed.push(byte);
      return;
    }
    this.matched += 1;
    if (this.matched < this.keys.length) return;
    this.isDetached = true;
    this.detach();
  }
}
