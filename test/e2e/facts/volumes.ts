import type { Volume } from '../../../src/api/types.ts';
import { makePod, serve, shell } from '../manifests.ts';
import { dataImage } from './fact-images.ts';
import type { FactMachine } from './fact-machine.ts';
import type { FactGroup, FactPod, Facts } from './fact-pods.ts';

const mode = (path: string): string => `stat -L -c '%a %u %g' ${path}`;
/** The first option of a mount, and its propagation. */
const mounted = (path: string): string =>
  `awk '$5 == "${path}" { print substr($6, 1, 2), ($7 ~ /:/ ? substr($7, 1, index($7, ":") - 1) : "private") }' /proc/self/mountinfo`;

const downward = (path: string, fieldPath: string) => ({ path, fieldRef: { fieldPath } });
const limitOf = (path: string, resource: string, divisor: string) => ({
  path,
  resourceFieldRef: { containerName: 'app', resource, divisor },
});

/** Volumes whose content the node creates. */
const contents: readonly Volume[] = [
  { name: 'config', configMap: { name: 'colors', defaultMode: 0o640 } },
  { name: 'some', configMap: { name: 'colors', items: [{ key: 'sky', path: 'deep/inside', mode: 0o400 }] } },
  { name: 'secret', secret: { secretName: 'login' } },
  { name: 'none', secret: { secretName: 'nobody-declares-it', optional: true } },
  {
    name: 'info',
    downwardAPI: {
      items: [
        downward('labels', 'metadata.labels'),
        downward('uid', 'metadata.uid'),
        limitOf('cpu', 'limits.cpu', '1m'),
        limitOf('memory', 'limits.memory', '1Mi'),
      ],
    },
  },
  {
    name: 'all',
    projected: {
      defaultMode: 0o444,
      sources: [
        { configMap: { name: 'colors', items: [{ key: 'grass', path: 'grass' }] } },
        { secret: { name: 'login', items: [{ key: 'user', path: 'login/user', mode: 0o404 }] } },
        { downwardAPI: { items: [downward('name', 'metadata.name')] } },
      ],
    },
  },
];

const contentFacts: Facts = {
  'a ConfigMap is a folder of its keys': ['ls /config; cat /config/sky /config/grass', 'blob\ngrass\nsky\nbluegreen'],
  'with bytes as they are': ["od -A n -t x1 /config/blob | tr -d ' '", '0001ff'],
  'with their mode': [mode('/config/sky'), '640 0 0'],
  'a folder has only the keys that are asked for': [
    'find /some/ -follow -type f | grep -v /some/[.][.]',
    '/some/deep/inside',
  ],
  'a key has a mode of its own': [mode('/some/deep/inside'), '400 0 0'],
  'a Secret is in memory': ['stat -f -c %T /secret; cat /secret/password', 'tmpfs\nhunter2'],
  'as the kubelet writes it by default': [mode('/secret/password'), '644 0 0'],
  'what is optional and not there is empty': ['ls /none', ''],
  'the pod tells of itself': ['cat /info/labels; echo; cat /info/uid', 'app="web"\ntier="front"\na-uid-of-its-own'],
  'and of its limits': ['cat /info/cpu; echo; cat /info/memory', '250\n32'],
  'sources are put together': ['cat /all/grass /all/login/user /all/name', 'greenadminvolumes-edge1'],
  'with the mode of each': [mode('/all/grass /all/login/user'), '444 0 0\n404 0 0'],
  'contents cannot be written': [
    'touch /config/x /secret/x /info/x /all/x 2>&1 | cut -d: -f3 | sort -u',
    'Read-only file system',
  ],
  'a new revision is swapped in as a whole': ['readlink /config/sky', '..data/sky'],
};

const emptyDirs: readonly Volume[] = [
  { name: 'disk', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '2Mi' } },
];

const emptyDirFacts: Facts = {
  'an emptyDir is for everyone': [mode('/disk /memory'), '777 0 0\n1777 0 0'],
  'in memory it is as large as it says': [
    "df -k /memory | awk 'NR > 1 { print $2 }'; stat -f -c %T /memory",
    '2048\ntmpfs',
  ],
  'and full then': ['dd if=/dev/zero of=/memory/x bs=1k count=4096 2>&1 | grep -c "No space left"; rm /memory/x', '1'],
  'containers share it': ['cat /disk/of-helper', 'hello'],
  'a container can mount it read-only': ['touch /disk-ro/x', 'touch: /disk-ro/x: Read-only file system'],
  'mounts of a container are its own': [`${mounted('/disk')}; ${mounted('/disk-ro')}`, 'rw private\nro private'],
  'a relative path is one below the root': ['ls /relative', 'of-helper'],
};

function hostPaths(folder: string): Volume[] {
  const path = (name: string, file: string, type?: string): Volume => ({
    name,
    hostPath: { path: file, ...(type !== undefined && { type }) },
  });
  return [
    path('directory', `${folder}/folder`, 'Directory'),
    path('made-directory', `${folder}/made/deep`, 'DirectoryOrCreate'),
    path('file', `${folder}/folder/file`, 'File'),
    path('made-file', `${folder}/folder/made-file`, 'FileOrCreate'),
    path('any', `${folder}/folder`),
    path('device', '/dev/kmsg', 'CharDevice'),
    path('socket', `${folder}/socket`, 'Socket'),
  ];
}

const hostPathFacts: Facts = {
  'a Directory is that of the machine': ['cat /directory/file', 'of the machine'],
  'a DirectoryOrCreate is made': [mode('/made-directory'), '755 0 0'],
  'a File is that of the machine': ['cat /file', 'of the machine'],
  'a FileOrCreate is made': [mode('/made-file'), '644 0 0'],
  'what has no type is what there is': ['cat /any/file', 'of the machine'],
  'a CharDevice is there, which takes a privileged container to use': [
    'stat -c %t:%T /device; head -c 1 /device',
    '1:b\nhead: /device: Operation not permitted',
  ],
  'a Socket is there': ['[ -S /socket ] && echo yes', 'yes'],
};

const mountsOf = (volumes: readonly Volume[]) => volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));

/** What is mounted into containers. */
export const volumes: FactGroup = {
  title: 'volumes',
  pods: (machine) => [
    {
      name: 'volumes',
      pod: {
        ...makePod('volumes', {
          volumes: [...contents, ...emptyDirs],
          containers: [
            shell('helper', `echo hello > /disk/of-helper; ${serve}`, { volumeMounts: mountsOf(emptyDirs) }),
            shell('app', `until [ -s /disk/of-helper ]; do sleep 0.05; done; ${serve}`, {
              resources: { requests: { cpu: '1m', memory: '1Mi' }, limits: { cpu: '250m', memory: '32Mi' } },
              volumeMounts: [
                ...mountsOf([...contents, ...emptyDirs]),
                { name: 'disk', mountPath: '/disk-ro', readOnly: true },
                { name: 'disk', mountPath: 'relative' },
              ],
              readinessProbe: { exec: { command: ['test', '-s', '/disk/of-helper'] }, periodSeconds: 1 },
            }),
          ],
        }),
        metadata: { name: 'volumes', uid: 'a-uid-of-its-own', labels: { app: 'web', tier: 'front' } },
      },
      facts: { app: { ...contentFacts, ...emptyDirFacts } },
    },
    {
      name: 'host-paths',
      pod: makePod('host-paths', {
        volumes: hostPaths(machine.hostFolder),
        containers: [shell('app', serve, { volumeMounts: mountsOf(hostPaths(machine.hostFolder)) })],
      }),
      facts: { app: hostPathFacts },
    },
    propagationPod(machine.hostFolder),
    ...imagePods(machine),
  ],
};

/** Mounts created in one container and visible in the others, in a folder of the machine and in one of the pod. */
function propagationPod(hostFolder: string): FactPod {
  const folders: readonly Volume[] = [
    { name: 'shared', hostPath: { path: `${hostFolder}/shared` } },
    { name: 'own', emptyDir: {} },
  ];
  const mount = (mountPropagation: string) => ({
    volumeMounts: mountsOf(folders).map((volumeMount) => ({ ...volumeMount, mountPropagation })),
  });
  const each = (script: string): string => `for folder in shared own; do ${script}; done`;
  const see = each('[ -e /$folder/mounted/inside ] && echo yes || echo no');
  const make = 'mkdir -p /$folder/mounted && mount -t tmpfs none /$folder/mounted && touch /$folder/mounted/inside';
  const how = `${mounted('/shared')}; ${mounted('/own')}`;
  return {
    name: 'propagation',
    pod: makePod('propagation', {
      volumes: [...folders],
      containers: [
        shell('none', serve, mount('None')),
        shell('from-host', serve, mount('HostToContainer')),
        shell('both', `${each(make)} && touch /tmp/done; ${serve}`, {
          ...mount('Bidirectional'),
          securityContext: { privileged: true },
          readinessProbe: { exec: { command: ['test', '-e', '/tmp/done'] }, periodSeconds: 1 },
          lifecycle: { preStop: { exec: { command: ['umount', '/shared/mounted'] } } },
        }),
      ],
    }),
    facts: {
      none: {
        'a mount of another container is not seen': [see, 'no\nno'],
        'mounts are private': [how, 'rw private\nrw private'],
      },
      'from-host': { 'HostToContainer sees it': [see, 'yes\nyes'], 'mounts follow': [how, 'rw master\nrw master'] },
      both: { 'Bidirectional passes it on': [see, 'yes\nyes'], 'mounts are shared': [how, 'rw shared\nrw shared'] },
    },
  };
}

/** containerd mounts images since 2.1. */
function imagePods({ containerd: [major, minor] }: FactMachine): FactPod[] {
  if (major < 2 || (major === 2 && minor === 0)) return [];
  const volume = { name: 'model', image: { reference: dataImage } };
  return [
    {
      name: 'image-volume',
      pod: makePod('image-volume', {
        volumes: [volume],
        containers: [shell('app', serve, { volumeMounts: mountsOf([volume]) })],
      }),
      facts: {
        app: {
          'an image is a folder': ['cat /model/model/weights', 'of the image'],
          'that cannot be written': ['touch /model/x', 'touch: /model/x: Read-only file system'],
        },
      },
    },
  ];
}
