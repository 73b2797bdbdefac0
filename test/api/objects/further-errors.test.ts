import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { loadManifests } from '../../../src/api/objects/load-manifests.ts';

const options = {
  nodeName: 'edge1',
  source: 'file',
  origin: 'web.yaml',
  hash: (text: string) => createHash('sha256').update(text).digest('hex'),
} as const;

/** The errors of a manifest, as `line field: message`. */
const errorsOf = (yaml: string): string[] =>
  loadManifests(yaml, options)
    .problems.filter(({ severity }) => severity === 'error')
    .map(({ line, field, message }) => `${line} ${field}: ${message}`);

const pod = (spec: string): string => `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
${spec}`;

test('a wrong type hides no later error of the pod', () => {
  const text = pod(`  restartPolicy: Sometimes
  containers:
  - name: App
    image: app
    ports:
    - {containerPort: "80", protocol: TPC}
    - {containerPort: 70000}
    volumeMounts:
    - {name: dta, mountPath: /data}
  - {name: side}
  volumes:
  - {name: data}`);
  expect(errorsOf(text)).toEqual([
    '11 spec.containers[0].ports[0].containerPort: Expected an integer, found the string "80"',
    '8 spec.containers[0].name: Invalid value: "App": must consist of lower case letters, digits and "-", and start and end with a letter or digit',
    '11 spec.containers[0].ports[0].protocol: Unsupported value: "TPC": supported values: "SCTP", "TCP", "UDP"',
    '12 spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535',
    '14 spec.containers[0].volumeMounts[0].name: Not found: "dta"',
    '15 spec.containers[1].image: Required value: must be set',
    '6 spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
  ]);
});

test('the template of a workload is examined too', () => {
  const text = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: one
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: 5}
      - {name: side}`;
  expect(errorsOf(text)).toEqual([
    '5 spec.replicas: Expected an integer, found the string "one"',
    '11 spec.template.spec.containers[0].image: Expected a string, found the number 5',
    '12 spec.template.spec.containers[1].image: Required value: must be set',
  ]);
});

test('a pod without a name has its other errors too', () => {
  const text = 'apiVersion: v1\nkind: Pod\nmetadata: {labels: {}}\nspec: {containers: [{name: app}]}';
  expect(errorsOf(text)).toEqual([
    '3 metadata.name: A name is needed',
    '4 spec.containers[0].image: Required value: must be set',
  ]);
});

const app = '  containers: [{name: app, image: app, volumeMounts: [{name: data, mountPath: /data}]}]\n';

test.each([
  ['a name', '  containers: [{name: 5, image: app}]'],
  ['an image', '  containers: [{name: app, image: [app]}]'],
  ['all containers', '  containers: {name: app, image: app}'],
  ['one container', '  containers: [app]'],
  ['all volumes', `${app}  volumes: {name: data}`],
  ['the name of a volume', `${app}  volumes: [{name: [data], emptyDir: {}}]`],
  ['a kind of volume', `${app}  volumes: [{name: data, hostPath: /data}]`],
  ['a field of a volume', `${app}  volumes: [{name: data, hostPath: {path: 5}}]`],
  ['a variable', '  containers: [{name: app, image: app, env: [{name: A, valueFrom: B}]}]'],
  ['all variables', '  containers: [{name: app, image: app, env: {A: B}}]'],
  ['an argument', '  containers: [{name: app, image: app, args: [5, true]}]'],
  ['a probe', '  containers: [{name: app, image: app, livenessProbe: true}]'],
  ['a port of a probe', '  containers: [{name: app, image: app, livenessProbe: {httpGet: {port: [80]}}}]'],
  ['a limit', '  containers: [{name: app, image: app, resources: {requests: {cpu: 1}, limits: {cpu: one}}}]'],
  [
    'the restart policy of a sidecar',
    `  initContainers: [{name: p, image: p, restartPolicy: true, livenessProbe: {exec: {command: [a]}}}]
  containers: [{name: app, image: app}]`,
  ],
  ['the host network', '  hostNetwork: "yes"\n  containers: [{name: app, image: app, ports: [{containerPort: 80}]}]'],
  ['a security context', '  securityContext: root\n  containers: [{name: app, image: app}]'],
  ['the whole spec', '  - containers'],
])('%s of a wrong type is one error, and leads to no other', (_what, spec) => {
  const errors = errorsOf(pod(spec));
  expect(errors.every((error) => error.includes(': Expected '))).toBe(true);
  expect(errors.length).toBeGreaterThan(0);
});

test.each(['metadata: {name: 5}', 'metadata: web', 'metadata: {name: web, namespace: 5, labels: {a: 1}}'])(
  '%s leads to no other error',
  (metadata) => {
    const text = `apiVersion: v1\nkind: Pod\n${metadata}\nspec: {containers: [{name: app, image: app}]}`;
    const errors = errorsOf(text);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.filter((error) => !error.includes(': Expected '))).toEqual([]);
  },
);
