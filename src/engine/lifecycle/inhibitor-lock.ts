import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { InhibitorLock } from './logind.ts';

/** kubelet: nodeshutdown/systemd/inhibit_linux.go InhibitShutdown */
const lock = ['--what=shutdown', '--mode=delay', '--who=kubelet', '--why=Kubelet needs time to handle node shutdown'];

/**
 * Takes a lock with systemd-inhibit, which holds it as long as its command runs. logind hands out the lock as a file
 * descriptor, which Node cannot receive. The command ends with our end of its pipe, so the lock goes when we die, however
 * that is, or the signal is aborted. Rejects with what the program says when logind does not grant it.
 */
export async function takeInhibitorLock(program: string, signal: AbortSignal): Promise<InhibitorLock> {
  // In a group of its own: what is typed at a terminal is for us.
  const child = spawn(program, [...lock, 'cat'], { stdio: ['pipe', 'pipe', 'pipe'], detached: true, signal });
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
  const ended = once(child, 'close').catch((error: unknown) => {
    throw new Error(`${program} cannot be run`, { cause: error });
  });
  await Promise.race([
    once(child.stdout, 'data'),
    ended.then(() => {
      throw new Error(`${program} ended: ${complaint.trim()}`);
    }),
  ]);
  return {
    released: exited,
    release: () => {
      child.stdin.end();
    },
  };
}
