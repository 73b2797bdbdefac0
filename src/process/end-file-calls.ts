import { setTimeout as delay } from 'node:timers/promises';

const patienceMs = 2000;
const pollMs = 20;

const isAtFiles = (): boolean => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));

/**
 * Waits until no call to a file system is pending. Kills the process if one hangs: Node waits for its threads when it
 * exits, and the thread of such a call never returns.
 */
export async function endFileCalls(): Promise<void> {
  for (let leftMs = patienceMs; isAtFiles() && leftMs > 0; leftMs -= pollMs) await delay(pollMs);
  if (!isAtFiles()) return;
  const warning = 'warning: a file system does not answer; kubelet-ts kills itself, because it cannot exit\n';
  await new Promise((done) => process.stderr.write(warning, done));
  process.kill(process.pid, 'SIGKILL');
}
