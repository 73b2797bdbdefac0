import type { Readable, Writable } from 'node:stream';
import type { Connect } from '../../node/runtime-connection.ts';

/** Process resources that a command uses. */
export interface CommandDeps {
  connect: Connect;
  stdin: InputStream;
  stdout: OutputStream;
  stderr: OutputStream;
  /** Sets the exit code of a command that finishes without an error. */
  setExitCode(exitCode: number): void;
}

/** The parts of `process.stdin` that commands use. */
export type InputStream = Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };

/** The parts of `process.stdout` that commands use. A terminal has a size and a `resize` event. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
