import { makePod, serve, shell } from '../../e2e/manifests.ts';
import type { Attack } from '../attack.ts';
import { besiegingPods, revised } from './besieging-pods.ts';

const megabytes = (count: number): string => `yes "$(printf '\\033[2Jloud\\342\\200\\256')" | head -c ${count}000000`;
const sh = (script: string): { command: string[] } => ({ command: ['sh', '-c', script] });

/** Hooks, probes and termination messages that say tens of megabytes. */
export const loudHooks: Attack = {
  name: 'loud-hooks',
  carryOn: (siege) =>
    besiegingPods(siege, 9000, {
      'loud-hook': (revision) =>
        makePod('loud-hook', {
          ...revised(revision),
          containers: [shell('main', serve, { lifecycle: { postStart: { exec: sh(`${megabytes(15)}; exit 1`) } } })],
        }),
      'loud-probe': (revision) =>
        makePod('loud-probe', {
          ...revised(revision),
          containers: [
            shell('main', serve, {
              readinessProbe: { exec: sh(`${megabytes(15)} >&2; exit 1`), periodSeconds: 5, timeoutSeconds: 4 },
            }),
          ],
        }),
      'loud-message': (revision) =>
        makePod('loud-message', {
          ...revised(revision),
          containers: [shell('main', `${megabytes(30)} > /dev/termination-log; exit 1`)],
        }),
    }),
};
