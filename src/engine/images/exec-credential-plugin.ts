import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { CredentialProvider } from '../../api/kubelet-configuration/credential-provider-config.ts';
import type { Clock } from '../../clock.ts';
import { killGroup } from '../host/kill-group.ts';

/** kubelet: credentialprovider/plugin/plugin.go ExecPlugin */
const timeoutMs = 60_000;
/** Far longer than any answer. */
const maxAnswerBytes = 1024 * 1024;

/**
 * Runs a credential provider with `input` on its standard input. Resolves with its standard output. Rejects if it
 * cannot run, fails, answers too much or takes a minute. Then it is killed with all its child processes. Its standard
 * error is dropped, because that may contain a secret.
 */
export async function execCredentialPlugin(
  { binDir, clock }: { binDir: string; clock: Clock },
  { name, args, env }: CredentialProvider,
  input: string,
): Promise<string> {
  const variables = Object.fromEntries(env.map((variable) => [variable.name, variable.value]));
  const child = spawn(join(binDir, name), args, {
    env: { ...process.env, ...variables },
    stdio: ['pipe', 'pipe', 'ignore'],
    // A process group, so that it can be killed as a whole.
    detached: true,
  });
  // A provider may answer without reading its input.
  child.stdin.on('error', () => undefined).end(input);
  const timeout = new AbortController();
  const cancelTimeout = clock.after(timeoutMs, () => {
    timeout.abort(new Error(`it took longer than ${timeoutMs / 1000} seconds`));
  });
  try {
    const [answer] = await Promise.race([
      Promise.all([readBounded(child.stdout), successOf(child)]),
      rejectionOf(timeout.signal),
    ]);
    return answer;
  } catch (error) {
    killGroup(child);
    throw error;
  } finally {
    cancelTimeout();
    child.stdout.destroy();
  }
}

async function readBounded(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > maxAnswerBytes) throw new Error(`its answer is longer than ${maxAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function successOf(child: ChildProcess): Promise<void> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (code !== 0)
    throw new Error(code === null ? `it was ended by ${signal ?? ''}` : `it ended with exit code ${code}`);
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });
}
