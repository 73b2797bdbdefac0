import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';

const options = {
  nodeName: 'edge1',
  source: 'file',
  origin: 'm.yaml',
  hash: (text: string) => createHash('sha256').update(text).digest('hex'),
} as const;

/** The errors of a manifest, as `line field: message`. */
const errorsOf = (text: string): string[] =>
  loadManifests(text, options)
    .problems.filter(({ severity }) => severity === 'error')
    .map(({ line, field, message }) => `${line} ${field}: ${message}`);

test('a wrong type hides no later error of its ConfigMap, Secret or other object', () => {
  const text = `apiVersion: v1
kind: ConfigMap
metadata: {name: Settings}
data:
  port: 80
  "a key": x
---
apiVersion: v1
kind: Secret
metadata: {name: certificate}
type: kubernetes.io/tls
data:
  tls.crt: "!"
  "a key": aGk=
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: Public
  ports:
  - {port: "80", protocol: TPC}
  - {port: 99999}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: ReadWriteOnce
  volumeMode: Disk
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk, namespace: web}
spec:
  capacity: {storage: much}
  accessModes: [ReadWriteOnce]
  local: {path: srv}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: High}
value: "5"
preemptionPolicy: Sometimes`;
  const characters =
    'must consist of lower case letters, digits, "-" and ".", and each part start and end with a letter or digit';
  expect(errorsOf(text)).toEqual([
    '5 data[port]: Expected a string, found the number 80',
    `3 metadata.name: Invalid value: "Settings": ${characters}`,
    '6 data[a key]: Invalid value: "a key": must consist of letters, digits, "-", "_" and "."',
    '13 data[tls.crt]: Expected a string in base64, found other text',
    '14 data[a key]: Invalid value: "a key": must consist of letters, digits, "-", "_" and "."',
    '12 data[tls.key]: Required value: a Secret of type kubernetes.io/tls needs it',
    '22 spec.ports[0].port: Expected an integer, found the string "80"',
    '20 spec.type: Unsupported value: "Public": supported values: "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"',
    '22 spec.ports[0].protocol: Unsupported value: "TPC": supported values: "TCP", "UDP", "SCTP"',
    '23 spec.ports[1].port: Invalid value: 99999: must be between 1 and 65535',
    '23 spec.ports[1].name: Required value: each of several ports needs a name',
    '29 spec.accessModes: Expected a list, found the string "ReadWriteOnce"',
    '28 spec.resources[storage]: Required value: must be set',
    '30 spec.volumeMode: Unsupported value: "Disk": supported values: "Block", "Filesystem"',
    '36 spec.capacity[storage]: Expected a quantity such as "100m", "1" or "64Mi", found the string "much"',
    '34 metadata.namespace: Forbidden: an object of this kind has no namespace',
    '38 spec.local.path: Invalid value: "srv": must be an absolute path',
    '43 value: Expected an integer, found the string "5"',
    `42 metadata.name: Invalid value: "High": ${characters}`,
    '44 preemptionPolicy: Unsupported value: "Sometimes": supported values: "PreemptLowerPriority", "Never"',
  ]);
});

test('fields that are missing in a volume or a claim are errors', () => {
  const volumes = ['local: {}', 'hostPath: {}', 'nfs: {}', 'csi: {}'].map(
    (source) => `apiVersion: v1
kind: PersistentVolume
metadata: {name: ${source.slice(0, 3).toLowerCase()}}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], ${source}}`,
  );
  const claim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, selector: {matchExpressions: [{}]}}`;
  expect(errorsOf([...volumes, claim].join('\n---\n'))).toEqual([
    '4 spec.local.path: Required value: must be set',
    '9 spec.hostPath.path: Required value: must be set',
    '14 spec.nfs.server: Required value: must be set',
    '14 spec.nfs.path: Required value: must be set',
    '19 spec.csi.driver: Required value: must be set',
    '19 spec.csi.volumeHandle: Required value: must be set',
    '24 spec.selector.matchExpressions[0].operator: Invalid value: "": is not a selector operator',
    '24 spec.selector.matchExpressions[0].key: Invalid value: "": must consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit',
  ]);
});

/** Valid objects that have most fields. */
const objects: object[] = [
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace: 'web', labels: { app: 'web' }, annotations: { note: 'x' } },
    data: { port: '80' },
    binaryData: { logo: 'aGk=' },
    immutable: true,
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'a' },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': '', 'tls.key': '' },
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'a' },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': '', 'tls.key': '' },
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'a' },
    type: 'kubernetes.io/dockercfg',
    data: { '.dockercfg': 'e30=' },
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'a', annotations: { 'kubernetes.io/service-account.name': 'a' } },
    type: 'kubernetes.io/service-account-token',
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { type: 'ClusterIP', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 'http', protocol: 'TCP' }] },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data' },
    spec: {
      accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
      resources: { requests: { storage: '1Gi' } },
      selector: { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
      storageClassName: 'fast',
    },
  },
  ...[
    { local: { path: '/srv' } },
    { hostPath: { path: '/srv', type: 'Directory' } },
    { nfs: { server: 'a', path: '/srv', readOnly: true } },
    { csi: { driver: 'a', volumeHandle: 'b', volumeAttributes: { c: 'd' } } },
  ].map((source) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'disk' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      claimRef: { name: 'data' },
      persistentVolumeReclaimPolicy: 'Retain',
      ...source,
    },
  })),
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: 'disks' },
    spec: { fsGroupPolicy: 'File', volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true },
  },
  {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'high' },
    value: 5,
    preemptionPolicy: 'Never',
  },
  {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'system-node-critical' },
    value: 2_000_001_000,
  },
  {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name: 'safe' },
    handler: 'runsc',
    overhead: { podFixed: { cpu: '10m', memory: '5Mi' } },
    scheduling: {
      nodeSelector: { a: 'b' },
      tolerations: [{ key: 'a', operator: 'Equal', value: 'b', effect: 'NoExecute', tolerationSeconds: 5 }],
    },
  },
];

/** The same object with one field of another type each: a list becomes an object, anything else a list. */
function* withWrongTypes(value: unknown): Generator {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const wrong of withWrongTypes(item)) yield value.with(index, wrong);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, field] of Object.entries(value)) {
      if (key === 'apiVersion' || key === 'kind') continue;
      for (const wrong of withWrongTypes(field)) yield { ...value, [key]: wrong };
    }
  }
  yield Array.isArray(value) ? {} : [[]];
}

test('a wrong type leads to no other error, in no field of any object', () => {
  const wrong = objects.flatMap((object) => [...withWrongTypes(object)].filter((one) => !Array.isArray(one)));
  const misleading = wrong.flatMap((one) => {
    const errors = errorsOf(JSON.stringify(one));
    return errors.length > 0 && errors.every((error) => error.includes(': Expected ')) ? [] : [{ one, errors }];
  });
  expect(objects.flatMap((object) => errorsOf(JSON.stringify(object)))).toEqual([]);
  expect(wrong.length).toBeGreaterThan(100);
  expect(misleading).toEqual([]);
});
