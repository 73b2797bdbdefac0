import { makePod, serve, shell } from '../../e2e/manifests.ts';
import type { Attack } from '../attack.ts';
import { besiegingPods, revised } from './besieging-pods.ts';

const wide = 'seq 20000 | sed s/^/w/ | xargs mkdir';
/**
 * Chains of 900 levels, each put at the end of the next. containerd opens one descriptor a level to remove a layer, and
 * has no more than the agent.
 */
const deep = `levels=$(yes d | head -n 900 | tr "\\n" /)
if [ $folder = /scratch ]; then chains=6; else chains=1; fi
mkdir chain
for i in $(seq $chains); do mkdir -p next/$levels && mv chain next/$levels && mv next chain; done`;

/**
 * Pods that make folders beside and below one another without end, in a volume and in their writable layer. Limits of
 * both have the agent measure them often.
 */
export const manyFolders: Attack = {
  name: 'many-folders',
  carryOn: (siege) => {
    const pod = (name: string, script: string) => (revision: number) =>
      makePod(name, {
        ...revised(revision),
        volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '2Gi' } }],
        containers: [
          shell(
            'main',
            `for folder in /scratch /layer; do mkdir -p $folder && cd $folder && ${script}; done; ${serve}`,
            {
              resources: { limits: { 'ephemeral-storage': '4Gi' } },
              volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
            },
          ),
        ],
      });
    return besiegingPods(siege, 12_000, {
      'wide-folders': pod('wide-folders', wide),
      'deep-folders': pod('deep-folders', deep),
    });
  },
};
