import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { NetworkNamespace } from '../e2e/network-namespace.ts';

export interface PeerOptions {
  readonly arguments?: readonly string[];
  /** Runs as `nobody`, with no rights. */
  readonly isUnprivileged?: boolean;
  /** Runs in a session of its own, which the kernel gives as much of the CPUs as all attackers in theirs. */
  readonly hasSession?: boolean;
  /** Every line of its stdout. */
  readonly onLine?: (line: string) => void;
}

/** `nobody` of Debian and of most others. */
const nobody = '65534';

/**
 * Runs a script of `peers/` as a process of its own in a network namespace; resolves when the signal ended it. Rejects
 * when it ends by itself. The script comes over the command line, as others may not be able to read this folder.
 */
export async function runPeer(
  namespace: NetworkNamespace,
  script: string,
  signal: AbortSignal,
  { arguments: words = [], isUnprivileged = false, hasSession = false, onLine }: PeerOptions = {},
): Promise<void> {
  if (signal.aborted) return;
  const text = await readFile(join(import.meta.dirname, 'peers', script), 'utf8');
  const user = isUnprivileged ? ['setpriv', '--reuid', nobody, '--regid', nobody, '--clear-groups'] : [];
  const node = [process.execPath, '--input-type=module', '--eval', text, '--', ...words];
  const peer = spawn('nsenter', [`--net=${namespace.path}`, ...user, ...node], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: hasSession,
  });
  await ended(peer, script, signal, onLine);
}

async function ended(
  peer: ChildProcessByStdio<null, Readable, Readable>,
  script: string,
  signal: AbortSignal,
  onLine: PeerOptions['onLine'],
): Promise<void> {
  let complaints = '';
  peer.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints = (complaints + text).slice(-4000);
  });
  createInterface({ input: peer.stdout }).on('line', (line) => onLine?.(line));
  const exited = once(peer, 'exit');
  const stop = (): void => void peer.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const [code] = (await exited) as [number | null];
  signal.removeEventListener('abort', stop);
  if (!signal.aborted) throw new Error(`${script} ended with ${String(code)}: ${complaints}`);
}
