import { setTimeout as delay } from 'node:timers/promises';
import { processesOf } from '../../e2e/processes.ts';
import type { Attack, Siege } from '../attack.ts';
import { repeat } from './repeat.ts';

/** containerd, or one of its shims, stands still for some seconds, as on a machine that swaps. */
export const stoppedRuntime: Attack = {
  name: 'stopped-runtime',
  carryOn: (siege) =>
    repeat(siege, 12_000, async () => {
      const pid = siege.random.chance(0.5) ? await siege.agent.containerdPid() : await anyShim(siege);
      if (pid === undefined) return;
      signalled(pid, 'SIGSTOP');
      await delay(3000 + siege.random.below(3000));
      signalled(pid, 'SIGCONT');
    }),
};

async function anyShim({ agent, random }: Siege): Promise<number | undefined> {
  const shims = (await processesOf(agent.rootDir)).filter(({ commandLine }) => commandLine.includes('containerd-shim'));
  return shims.length === 0 ? undefined : random.pick(shims).pid;
}

/** It may have ended meanwhile. */
function signalled(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Nothing is left to stop or to go on.
  }
}
