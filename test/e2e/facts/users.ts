import { makePod, serve, shell } from '../manifests.ts';
import type { FactGroup } from './fact-pods.ts';
import { namedUserImage, numericUserImage } from './fact-images.ts';

const disk = [{ name: 'disk', emptyDir: {} }];
const volumeMounts = [{ name: 'disk', mountPath: '/disk' }];

const ids = 'echo $(id -u) $(id -g) groups $(id -G | tr " " "\\n" | sort -n)';

/** Which user a container runs as, according to its pod, itself or its image. */
export const users: FactGroup = {
  title: 'users and groups',
  pods: () => [
    {
      name: 'users',
      pod: makePod('users', {
        securityContext: { runAsUser: 1000, runAsGroup: 1001, fsGroup: 2000, supplementalGroups: [3000, 4000] },
        volumes: disk,
        containers: [
          shell('of-pod', serve, { volumeMounts }),
          shell('of-its-own', serve, { securityContext: { runAsUser: 1500, runAsGroup: 1501, runAsNonRoot: true } }),
        ],
      }),
      facts: {
        'of-pod': {
          'user and groups are those of the pod': [ids, '1000 1001 groups 1001 2000 3000 4000'],
          'a volume belongs to the fsGroup': ['stat -c "%u %g %a" /disk', '0 2000 2777'],
          'a new file in it too': ['touch /disk/new; stat -c "%u %g" /disk/new', '1000 2000'],
          'files of the image do not': ['stat -c "%u %g" /etc/passwd', '0 0'],
          'the termination log can be written': ['echo done >> /dev/termination-log && echo yes', 'yes'],
        },
        'of-its-own': { 'user and group of a container win': [ids, '1500 1501 groups 1501 2000 3000 4000'] },
      },
    },
    {
      name: 'image-users',
      pod: makePod('image-users', {
        containers: [
          { name: 'number', image: numericUserImage },
          { name: 'name', image: namedUserImage },
          { name: 'name-and-group', image: namedUserImage, securityContext: { runAsUser: 1, runAsGroup: 2 } },
          { name: 'non-root', image: numericUserImage, securityContext: { runAsNonRoot: true } },
        ],
      }),
      facts: {
        number: { 'the image names its user by number': [ids, '1234 5678 groups 5678 6000'] },
        name: { 'the image names its user by name': [ids, '1234 5678 groups 5678 6000'] },
        'name-and-group': { 'the pod wins over the image': [ids, '1 2 groups 2'] },
        'non-root': { 'a numeric user of the image is no root': ['id -u', '1234'] },
      },
    },
  ],
};
