import type { Readable, Writable } from 'node:stream';
import type { Connect } from '../../node/runtime-connection.ts';

/** What a command gets from the process it runs in. */
export interface CommandDeps {
  connect: Connect;
  stdin: InputStream;
  stdout: OutputStream;
  stderr: Writable;
  /** Sets the exit code of the process, for when the command ends without an error. */
  setExitCode(exitCode: number): void;
}

/** `process.stdin`, as far as commands use it. */
export type InputStream = Readable & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };

/** `process.stdout`, as far as commands use it: the size is there on a terminal, with a `resize` event. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
