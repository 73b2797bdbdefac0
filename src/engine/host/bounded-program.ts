import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '../../clock.ts';
import { GrowingBytes } from '../../files/growing-bytes.ts';
import { killGroup } from './kill-group.ts';

interface Bounds {
  clock: Clock;
  timeoutMs: number;
  maxOutputBytes: number;
  /** The message for a longer output. */
  tooLong: string;
  /** Environment variables in addition to those of this process. */
  env?: Readonly<Record<string, string>>;
  /** Text for standard input. If absent, the program has no standard input. */
  input?: string;
  /** True if errors quote the end of standard error. Otherwise it is dropped, because it may contain a secret. */
  quotesErrors?: boolean;
  /** Aborting it kills the program at once. */
  signal?: AbortSignal;
}

const maxErrorBytes = 4096;

/**
 * Runs a program. Resolves with its standard output. If the program cannot run, fails, prints too much or takes too
 * long, it is killed with all its child processes, and this rejects.
 */
export async function boundedOutput(program: string, words: readonly string[], bounds: Bounds): Promise<Buffer> {
  const { clock, timeoutMs, env, input, quotesErrors = false, signal } = bounds;
  // Starts a process group, so that it can be killed as a whole.
  const child = spawn(program, words, {
    env: { ...process.env, ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', quotesErrors ? 'pipe' : 'ignore'],
    detached: true,
  });
  // A program may answer without reading its input.
  child.stdin?.on('error', () => undefined).end(input);
  const kill = (): void => {
    killGroup(child);
  };
  signal?.addEventListener('abort', kill, { once: true });
  let cancelTimeout = (): void => undefined;
  const timeout = new Promise<never>((_, reject) => {
    cancelTimeout = clock.after(timeoutMs, () => {
      reject(new Error(`it took longer than ${timeoutMs / 1000} seconds`));
    });
  });
  try {
    const ended = Promise.all([readBounded(child.stdout, bounds), readEnd(child.stderr), failureOf(child)]);
    const [output, errors, failure] = await Promise.race([ended, timeout]);
    if (failure !== undefined) throw new Error(errors === '' ? failure : errors);
    return output;
  } catch (error) {
    kill();
    throw error;
  } finally {
    cancelTimeout();
    signal?.removeEventListener('abort', kill);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

type Output = AsyncIterable<Buffer> | null;

async function readBounded(stream: Output, { maxOutputBytes, tooLong }: Bounds): Promise<Buffer> {
  const output = new GrowingBytes();
  for await (const chunk of stream ?? []) {
    if (output.length + chunk.length > maxOutputBytes) throw new Error(tooLong);
    output.add(chunk);
  }
  return output.drain();
}

/** Resolves with the last lines of a stream. */
async function readEnd(stream: Output): Promise<string> {
  let end = Buffer.alloc(0);
  for await (const chunk of stream ?? []) end = Buffer.concat([end, chunk]).subarray(-maxErrorBytes);
  return end.toString('utf8').trim();
}

/** Resolves with a description of the failure, or with undefined. Rejects if the program cannot be started. */
async function failureOf(child: ChildProcess): Promise<string | undefined> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (code === 0) return undefined;
  return code === null ? `it was stopped by ${signal ?? ''}` : `it exited with code ${code}`;
}
