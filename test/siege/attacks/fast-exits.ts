import { makePod, shell } from '../../e2e/manifests.ts';
import type { Attack } from '../attack.ts';
import { besiegingPods, revised } from './besieging-pods.ts';

/** Containers that fork and end at once, with lines of a log as long as they like. */
export const fastExits: Attack = {
  name: 'fast-exits',
  carryOn: (siege) =>
    besiegingPods(siege, 8000, {
      'exit-at-once': (revision) =>
        makePod('exit-at-once', { ...revised(revision), containers: [shell('a', 'exit 0'), shell('b', 'exit 255')] }),
      'exit-loudly': (revision) =>
        makePod('exit-loudly', {
          ...revised(revision),
          containers: [
            shell('main', 'head -c 5000000 /dev/zero | tr "\\0" x; for i in $(seq 50); do sleep 1 & done; exit 3', {
              terminationMessagePolicy: 'FallbackToLogsOnError',
            }),
          ],
        }),
    }),
};
