import { describe, expect, test } from 'vitest';
import { type FieldKind, fieldsOfObject } from '../../../src/api/decoding/object-schema.ts';
import { manifestSchema } from '../../../src/api/decoding/manifest-schema.ts';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';

type Value = Record<string, unknown>;

const container: Value = {
  name: 'main',
  image: 'app:1',
  env: [
    { name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'B', value: 'b' },
  ],
  ports: [{ containerPort: 80 }],
  livenessProbe: { httpGet: { port: 80 } },
  readinessProbe: { exec: { command: ['true'] } },
  startupProbe: { tcpSocket: { port: 80 } },
  lifecycle: { postStart: { httpGet: { port: 80 } }, preStop: { exec: { command: ['true'] } } },
  resources: { limits: { cpu: '1' } },
  securityContext: { capabilities: {} },
  volumeMounts: [{ name: 'config', mountPath: '/config' }],
};
const podSpec = {
  containers: [container],
  securityContext: {},
  tolerations: [{ operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  dnsConfig: {},
  volumes: [
    { name: 'config', configMap: { name: 'config' } },
    { name: 'secret', secret: { secretName: 'secret' } },
    { name: 'empty', emptyDir: {} },
    { name: 'path', hostPath: { path: '/data' } },
    { name: 'claim', persistentVolumeClaim: { claimName: 'claim' } },
    { name: 'files', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
    { name: 'all', projected: { sources: [{ configMap: { name: 'config' } }, { secret: { name: 'secret' } }] } },
  ],
};
const labels = { app: 'web' };
const template = { metadata: { labels }, spec: podSpec };
const jobTemplate = { metadata: { labels }, spec: { ...podSpec, restartPolicy: 'Never' } };
const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const selector = { matchLabels: labels };

const samples: Record<string, Value> = {
  Pod: { apiVersion: 'v1', spec: podSpec },
  ConfigMap: { apiVersion: 'v1' },
  Secret: { apiVersion: 'v1' },
  Service: { apiVersion: 'v1', spec: { selector: labels, ports: [{ port: 80 }] } },
  Deployment: { apiVersion: 'apps/v1', spec: { selector, template, strategy: {} } },
  DaemonSet: { apiVersion: 'apps/v1', spec: { selector, template, updateStrategy: {} } },
  StatefulSet: {
    apiVersion: 'apps/v1',
    spec: { selector, template, volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claimSpec }] },
  },
  ReplicaSet: { apiVersion: 'apps/v1', spec: { selector, template } },
  ReplicationController: { apiVersion: 'v1', spec: { selector: labels, template } },
  Job: { apiVersion: 'batch/v1', spec: { template: jobTemplate } },
  PersistentVolumeClaim: { apiVersion: 'v1', spec: claimSpec },
  PersistentVolume: {
    apiVersion: 'v1',
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/data' } },
  },
  CSIDriver: { apiVersion: 'storage.k8s.io/v1', spec: {} },
  RuntimeClass: { apiVersion: 'node.k8s.io/v1', handler: 'runc', scheduling: {} },
  PriorityClass: { apiVersion: 'scheduling.k8s.io/v1', value: 1 },
};

/** Pointers in Go, so that a zero is a value. The schema of workloads does not mark pointers. */
const pointers = [
  'spec.activeDeadlineSeconds: 0',
  'spec.backoffLimitPerIndex: 0',
  'spec.completionMode: ""',
  'spec.maxFailedIndexes: 0',
  'spec.podReplacementPolicy: ""',
];

/** The values that Go cannot tell from absence. */
const zeros: Partial<Record<FieldKind['type'], unknown[]>> = {
  string: [''],
  bool: [false],
  int32: [0],
  int64: [0],
  list: [[]],
  map: [{}],
  intOrString: [0, ''],
};

/** The object with each field, one at a time, that is absent and has a zero value. */
function* withZeros(type: string, object: Value): Generator<{ field: string; object: Value }> {
  for (const [name, { kind, presence }] of fieldsOfObject(manifestSchema, type)) {
    const value = object[name];
    if (value === undefined) {
      if (presence !== 'other') continue;
      for (const zero of zeros[kind.type] ?? []) {
        yield { field: `${name}: ${JSON.stringify(zero)}`, object: { ...object, [name]: zero } };
      }
    } else if (kind.type === 'object') {
      for (const inside of withZeros(kind.name, value as Value)) {
        yield { field: `${name}.${inside.field}`, object: { ...object, [name]: inside.object } };
      }
    } else if (kind.type === 'list' && kind.element.type === 'object') {
      const element = kind.element.name;
      for (const [index, item] of (value as Value[]).entries()) {
        for (const inside of withZeros(element, item)) {
          const items = (value as Value[]).with(index, inside.object);
          yield { field: `${name}[${index}].${inside.field}`, object: { ...object, [name]: items } };
        }
      }
    }
  }
}

function errorsOf(object: Value): string[] {
  const options = { origin: '/m/a.yaml', nodeName: 'edge1', source: 'file', hash: () => 'f'.repeat(32) } as const;
  const { problems } = loadManifests(JSON.stringify(object), options);
  return problems.flatMap(({ severity, field, message }) =>
    severity === 'error' ? [`${field ?? ''}: ${message}`] : [],
  );
}

describe('zeros that the API server reads as absence are no errors', () => {
  test.each(Object.keys(samples))('in a %s', (kind) => {
    const sample = { kind, metadata: { name: 'web' }, ...samples[kind] };
    expect(errorsOf(sample)).toEqual([]);
    const written = [...withZeros(kind, sample)].filter(({ field }) => !pointers.includes(field));
    const wrong = written.flatMap(({ field, object }) => errorsOf(object).map((error) => `${field} → ${error}`));
    expect(wrong).toEqual([]);
  });
});
