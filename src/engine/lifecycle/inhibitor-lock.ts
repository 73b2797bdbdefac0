import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { InhibitorLock } from './logind.ts';

/** kubelet: nodeshutdown/systemd/inhibit_linux.go InhibitShutdown */
const lock = ['--what=shutdown', '--mode=delay', '--who=kubelet', '--why=Kubelet needs time to handle node shutdown'];

/**
 * Ignores signals, because a service manager that stops the agent signals all its processes, and the lock must outlive
 * the agent.
 */
const ignoringSignals = `trap '' TERM INT HUP; exec "$0" "$@"`;

/**
 * Acquires a lock with systemd-inhibit, which holds it while its command runs. logind returns the lock as a file
 * descriptor, which Node cannot receive. The command exits when the agent's end of its pipe closes, so the lock is
 * released when the agent exits for any reason or the signal is aborted. Rejects with the program's error output if
 * logind does not grant the lock.
 */
export async function takeInhibitorLock(program: string, signal: AbortSignal): Promise<InhibitorLock> {
  const child = spawn('sh', ['-c', ignoringSignals, program, ...lock, 'sh', '-c', ignoringSignals, 'cat'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    signal,
    killSignal: 'SIGKILL',
  });
  // Awaiting callers get the error.
  child.on('error', () => undefined);
  const exited = once(child, 'exit').then(
    () => undefined,
    () => undefined,
  );
  let errorOutput = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorOutput = (errorOutput + text).slice(0, 1000);
  });
  // The command echoes this text once it runs, which means that the lock is held. A failed program does not read it.
  child.stdin.on('error', () => undefined).write('held\n');
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'close').then(() => {
      throw new Error(`${program} ended: ${errorOutput.trim()}`);
    }),
  ]);
  // Stop a command that outlived its killed parent.
  void exited.then(() => child.stdin.end());
  return {
    released: exited,
    release: () => {
      child.stdin.end();
    },
  };
}
