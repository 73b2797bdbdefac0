import { fstatSync, writeSync } from 'node:fs';
import { quickTexts } from './quick-texts.ts';

/** What is still to be written, because a descriptor takes no more now. */
interface Rest {
  stdout: Uint8Array;
  stderr: Uint8Array;
}

/**
 * Runs a common `ps`. Returns undefined if the whole command must run, and has printed nothing then. Writes to the
 * descriptors, because Node takes 1 ms to make their streams.
 */
export async function quickPs(words: readonly string[]): Promise<Rest | undefined> {
  const texts = await quickTexts(words, isTerminal() ? () => process.stdout : undefined);
  if (texts === undefined) return undefined;
  const stdout = unwritten(1, Buffer.from(texts.stdout));
  const stderr = Buffer.from(texts.stderr);
  return { stdout, stderr: stdout.length === 0 ? unwritten(2, stderr) : stderr };
}

/**
 * True if stdout is a terminal. The module is loaded only for a device, such as `/dev/null`. The executable cannot
 * `import()` it.
 */
function isTerminal(): boolean {
  return fstatSync(1).isCharacterDevice() && process.getBuiltinModule('node:tty').isatty(1);
}

/** Writes to a descriptor. Returns the bytes that it does not take; a stream waits, or reports the error. */
function unwritten(fd: number, bytes: Uint8Array): Uint8Array {
  let rest = bytes;
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
  } catch {
    return rest;
  }
  return rest;
}
