import { expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';
import { podUIDHash } from '../../../src/engine/config/load-manifest.ts';

const load = (text: string) =>
  loadManifests(text, { origin: 'm.yaml', nodeName: 'edge1', source: 'file', hash: podUIDHash });

/** Problems as `line: field: message`. */
const problemsOf = (text: string): string[] =>
  load(text).problems.map(({ line, field, message }) => `${String(line)}: ${field ?? ''}: ${message}`);

test('a claim keeps what decides on its storage', () => {
  const { configObjects, problems } = load(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data, namespace: web }
spec:
  accessModes: [ReadWriteOncePod]
  storageClassName: local-path
  volumeName: disk
  selector: { matchLabels: { tier: db } }
  resources: { requests: { storage: 1Gi } }
`);
  expect(problems).toEqual([]);
  expect(configObjects).toEqual([
    {
      kind: 'PersistentVolumeClaim',
      namespace: 'web',
      name: 'data',
      accessModes: ['ReadWriteOncePod'],
      storage: '1Gi',
      storageClassName: 'local-path',
      volumeName: 'disk',
      selector: { matchLabels: { tier: 'db' } },
    },
  ]);
});

test('a volume and a driver have the defaults of the API', () => {
  const { configObjects, problems } = load(`
apiVersion: v1
kind: PersistentVolume
metadata: { name: disk, labels: { tier: db } }
spec:
  accessModes: [ReadWriteOnce]
  capacity: { storage: 2Gi }
  claimRef: { name: data }
  local: { path: /mnt/disk }
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: { name: csi.example.com }
spec: { attachRequired: false }
`);
  expect(problems).toEqual([]);
  expect(configObjects).toEqual([
    {
      kind: 'PersistentVolume',
      name: 'disk',
      labels: { tier: 'db' },
      accessModes: ['ReadWriteOnce'],
      storage: '2Gi',
      storageClassName: '',
      claimRef: { namespace: 'default', name: 'data' },
      mountOptions: [],
      source: { local: { path: '/mnt/disk' } },
    },
    {
      kind: 'CSIDriver',
      name: 'csi.example.com',
      podInfoOnMount: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      volumeLifecycleModes: ['Persistent'],
      requiresRepublish: false,
    },
  ]);
});

const claim = (spec: string): string => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec: { resources: { requests: { storage: 1Gi } }, ${spec} }
`;

const volume = (spec: string): string => `
apiVersion: v1
kind: PersistentVolume
metadata: { name: disk }
spec: { accessModes: [ReadWriteOnce], ${spec} }
`;

test.each([
  [
    'a block volume',
    claim('accessModes: [ReadWriteOnce], volumeMode: Block'),
    ['5: spec.volumeMode: Forbidden: Block: block volumes are not supported here'],
  ],
  [
    'no access mode',
    claim('volumeName: disk'),
    ['5: spec.accessModes: Required value: needs at least one access mode'],
  ],
  [
    'a source of its content',
    claim('accessModes: [ReadWriteOnce], dataSource: { kind: PersistentVolumeClaim, name: a }'),
    ['5: spec.dataSource: Forbidden: nothing fills a new volume here'],
  ],
  ['no size', volume('hostPath: { path: /mnt }'), ['5: spec.capacity.storage: Required value: must be set']],
  [
    'no kind',
    volume('capacity: { storage: 1Gi }'),
    ['5: spec: Required value: must have one of csi, hostPath, local, nfs'],
  ],
  [
    'two kinds',
    volume('capacity: { storage: 1Gi }, hostPath: { path: /mnt }, local: { path: /mnt }'),
    ['5: spec.local: Forbidden: may not specify more than 1 volume type'],
  ],
  [
    'a kind of a cluster',
    volume('capacity: { storage: 1Gi }, cinder: { volumeID: a }'),
    ['5: spec.cinder: Forbidden: volumes of this kind are not supported: use csi, hostPath, local, nfs'],
  ],
  [
    'a relative path',
    volume('capacity: { storage: 1Gi }, local: { path: mnt }'),
    ['5: spec.local.path: Invalid value: "mnt": must be an absolute path'],
  ],
  [
    'a path out of its folder',
    volume('capacity: { storage: 1Gi }, nfs: { server: a, path: /a/../b }'),
    ['5: spec.nfs.path: Invalid value: "/a/../b": must not contain ".."'],
  ],
  [
    'a reclaim policy that is not followed',
    volume('capacity: { storage: 1Gi }, local: { path: /mnt }, persistentVolumeReclaimPolicy: Delete'),
    ['5: spec.persistentVolumeReclaimPolicy: Delete has no effect: the data of a declared volume always stay'],
  ],
  [
    'a path with a NUL',
    volume('capacity: { storage: 1Gi }, hostPath: { path: "/data\\0x" }'),
    ['5: spec.hostPath.path: Invalid value: "/data\\u0000x": must not contain NUL characters'],
  ],
  [
    'a path that is too long',
    volume(`capacity: { storage: 1Gi }, local: { path: ${'/a'.repeat(2048)} }`),
    ['5: spec.local.path: Too long: must be no more than 4095 bytes'],
  ],
  [
    'a line break in an option',
    volume('capacity: { storage: 1Gi }, nfs: { server: a, path: /a }, mountOptions: ["ro\\nrw"]'),
    ['5: spec.mountOptions[0]: Invalid value: "ro\\nrw": must not contain line breaks or other control characters'],
  ],
  [
    'a driver that is the way to another folder',
    volume('capacity: { storage: 1Gi }, csi: { driver: ../../etc, volumeHandle: a }'),
    [
      '5: spec.csi.driver: Invalid value: "../../etc": must consist of lower case letters, digits, "-" and ".", ' +
        'and each part start and end with a letter or digit',
    ],
  ],
  [
    'a name with an escape',
    claim('accessModes: [ReadWriteOnce], volumeName: "a\\e[2J"'),
    ['5: spec.volumeName: Invalid value: "a\\u001b[2J": must not contain line breaks or other control characters'],
  ],
])('an object with %s has a problem with its position', (_title, text, problems) => {
  expect(problemsOf(text)).toEqual(problems);
});

const statefulSet = (more = ''): string => `
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db, namespace: web }
spec:
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec:
      containers: [{ name: db, image: db:1, volumeMounts: [{ name: data, mountPath: /data }] }]
      volumes: [{ name: data, emptyDir: {} }, { name: tmp, emptyDir: {} }]
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } ${more} }
`;

test('the templates of a StatefulSet become claims with the name of its pod, which replace volumes of their name', () => {
  const { pods, configObjects } = load(statefulSet());
  expect(pods[0]?.spec.volumes).toEqual([
    { name: 'data', persistentVolumeClaim: { claimName: 'data-db-0' } },
    { name: 'tmp', emptyDir: {} },
  ]);
  expect(configObjects).toEqual([
    {
      kind: 'PersistentVolumeClaim',
      namespace: 'web',
      name: 'data-db-0',
      accessModes: ['ReadWriteOnce'],
      storage: '1Gi',
    },
  ]);
});

test('a claim of a StatefulSet stays declared while it is scaled to zero', () => {
  const { pods, configObjects } = load(statefulSet().replace('spec:\n', 'spec:\n  replicas: 0\n'));
  expect(pods).toEqual([]);
  expect(configObjects.map(({ name }) => name)).toEqual(['data-db-0']);
});

test('a broken template of a StatefulSet, and one that is declared already, have a place', () => {
  expect(problemsOf(statefulSet(', volumeMode: Block'))).toEqual([
    '14: spec.volumeClaimTemplates[0].spec.volumeMode: Forbidden: Block: block volumes are not supported here',
  ]);
  const declared = claim('accessModes: [ReadWriteOnce]').replace('name: data', 'name: data-db-0, namespace: web');
  expect(problemsOf(`${declared}---${statefulSet()}`)).toEqual([
    '17: spec.volumeClaimTemplates: PersistentVolumeClaim web/data-db-0 is declared on line 4 already',
  ]);
});

test('attributes for the driver of a volume are any text', () => {
  const { problems } = load(
    volume('capacity: { storage: 1Gi }, csi: { driver: a.b, volumeHandle: c, volumeAttributes: { script: "a\\nb" } }'),
  );
  expect(problems).toEqual([]);
});
