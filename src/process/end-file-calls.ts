import { setTimeout as delay } from 'node:timers/promises';

const patienceMs = 2000;
const pollMs = 20;

const isAtFiles = (): boolean => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));

/**
 * Waits until no file system call is pending. If one hangs, kills the process: Node waits for its threads on exit, and
 * the thread of a hanging call never returns.
 */
export async function endFileCalls(): Promise<void> {
  for (let leftMs = patienceMs; isAtFiles() && leftMs > 0; leftMs -= pollMs) await delay(pollMs);
  if (!isAtFiles()) return;
  const warning = 'warning: a file system does not answer; kubelet-ts kills itself, because it cannot exit\n';
  await new Promise((done) => process.stderr.write(warning, done));
  process.kill(process.pid, 'SIGKILL');
}
