import { makePod, shell } from '../../e2e/manifests.ts';
import type { Attack } from '../attack.ts';
import { besiegingPods, revised } from './besieging-pods.ts';
import { repeat } from './repeat.ts';

/** What takes the place of a container's own log. */
const replacements = {
  fifo: 'mkfifo "$log"',
  link: 'ln -s /dev/zero "$log"',
  sparse: 'dd if=/dev/zero of="$log" bs=1 count=1 seek=4G',
} as const;

/**
 * Pods that mount the logs of the node, put something else in the place of their own, and fail. Their logs are asked
 * for.
 */
export const oddLogs: Attack = {
  name: 'odd-logs',
  carryOn: async (siege) => {
    const { agent, signal } = siege;
    const pods = Object.entries(replacements).map(([name, command]) => [
      `log-${name}`,
      (revision: number) =>
        makePod(`log-${name}`, {
          ...revised(revision),
          volumes: [{ name: 'logs', hostPath: { path: agent.podLogsDir } }],
          containers: [
            shell('main', `for log in /logs/*_log-${name}-*/main/*.log; do rm -f "$log"; ${command}; done; exit 1`, {
              terminationMessagePolicy: 'FallbackToLogsOnError',
              volumeMounts: [{ name: 'logs', mountPath: '/logs' }],
            }),
          ],
        }),
    ]);
    await Promise.all([
      besiegingPods(siege, 11_000, Object.fromEntries(pods) as Record<string, (revision: number) => object>),
      repeat(siege, 10_000, async () => {
        // What it prints is not looked at: that it ends is not waited for either.
        const reader = agent.spawn(['logs', `log-${siege.random.pick(Object.keys(replacements))}`, '--tail', '5']);
        const stop = setTimeout(() => reader.kill('SIGKILL'), 8000);
        signal.addEventListener('abort', () => reader.kill('SIGKILL'), { once: true });
        await reader;
        clearTimeout(stop);
      }),
    ]);
  },
};
