import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Attack } from '../attack.ts';
import { repeat } from './repeat.ts';

/** Number of inotify_init in this machine's kernel. */
const inotifyInit1 = process.arch === 'x64' ? 294 : 26;
const heldMs = 2000;

/** Another process of root takes all inotify instances that root may have, for two seconds at a time. */
export const usedUpInotify: Attack = {
  name: 'used-up-inotify',
  carryOn: (siege) =>
    repeat(siege, 15_000, async () => {
      const script = `while (syscall(${inotifyInit1}, 0) >= 0) {} $| = 1; print "all\\n"; sleep 60`;
      const hog = spawn('perl', ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = once(hog, 'exit');
      await once(hog.stdout, 'data');
      const commands = [
        ['wait', 'calm-0', '--timeout', '1s'],
        ['logs', '-f', 'calm-0'],
      ].map((words) => siege.agent.spawn(words, { input: '' }));
      await delay(heldMs);
      hog.kill('SIGKILL');
      for (const command of commands) command.kill('SIGKILL');
      await Promise.all([ended, ...commands]);
    }),
};
