import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { InhibitorLock } from './logind.ts';

/** kubelet: nodeshutdown/systemd/inhibit_linux.go InhibitShutdown */
const lock = ['--what=shutdown', '--mode=delay', '--who=kubelet', '--why=Kubelet needs time to handle node shutdown'];

/** A service manager that stops us tells every process of ours: the lock stays until we went. */
const unimpressed = `trap '' TERM INT HUP; exec "$0" "$@"`;

/**
 * Takes a lock with systemd-inhibit, which holds it as long as its command runs. logind hands out the lock as a file
 * descriptor, which Node cannot receive. The command ends with our end of its pipe, so the lock goes when we die, however
 * that is, or the signal is aborted. Rejects with what the program says when logind does not grant it.
 */
export async function takeInhibitorLock(program: string, signal: AbortSignal): Promise<InhibitorLock> {
  const child = spawn('sh', ['-c', unimpressed, program, ...lock, 'sh', '-c', unimpressed, 'cat'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    signal,
    killSignal: 'SIGKILL',
  });
  // Whoever waits for it hears of it.
  child.on('error', () => undefined);
  const exited = once(child, 'exit').then(
    () => undefined,
    () => undefined,
  );
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, 1000);
  });
  // It comes back once the command runs, which is when the lock is held. A program that was refused does not read it.
  child.stdin.on('error', () => undefined).write('held\n');
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'close').then(() => {
      throw new Error(`${program} ended: ${complaint.trim()}`);
    }),
  ]);
  // Its command may be left when it was killed.
  void exited.then(() => child.stdin.end());
  return {
    released: exited,
    release: () => {
      child.stdin.end();
    },
  };
}
