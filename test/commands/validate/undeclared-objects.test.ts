import { join } from 'node:path';
import { expect, test } from 'vitest';
import { undeclaredObjects } from '../../../src/commands/validate/undeclared-objects.ts';
import { readManifests } from '../../../src/node/sources/read-manifests.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { writeFile } from 'node:fs/promises';

const pod = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  imagePullSecrets: [{name: pull}]
  containers:
  - name: app
    image: app
    envFrom:
    - configMapRef: {name: setings}
    - secretRef: {name: maybe, optional: true}
    env:
    - {name: A, valueFrom: {secretKeyRef: {name: keys, key: a}}}
    - {name: B, valueFrom: {configMapKeyRef: {name: settings, key: b}}}
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data}}
  - {name: all, projected: {sources: [{configMap: {name: other}}]}}
`;
const settings = '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {b: x}\n';

async function warningsOf(text: string): Promise<string[]> {
  const folder = await temporaryFolder();
  const path = join(folder, 'web.yaml');
  await writeFile(path, text);
  const request = { manifests: [path], nodeName: 'edge1', stdin: undefined, allPositions: true };
  return undeclaredObjects(await readManifests(request), { name: 'edge1', labels: {} }).map(
    ({ origin, line, field, severity, message, hint }) =>
      `${origin === path}:${line}: ${severity}: ${field}: ${message} (${hint})`,
  );
}

test('each object that no manifest declares is a warning with its place and what to do', async () => {
  const wait = 'Declare it with the pod, or set "optional: true". Until then, the pod waits.';
  expect(await warningsOf(pod + settings)).toEqual([
    'true:10: warning: spec.containers[0].envFrom[0].configMapRef.name: no manifest declares ConfigMap default/setings (Did you mean "settings"?)',
    `true:13: warning: spec.containers[0].env[0].valueFrom.secretKeyRef.name: no manifest declares Secret default/keys (${wait})`,
    'true:16: warning: spec.volumes[0].persistentVolumeClaim.claimName: no manifest declares PersistentVolumeClaim default/data (Declare it with the pod. Until then, the pod waits.)',
    `true:17: warning: spec.volumes[1].projected.sources[0].configMap.name: no manifest declares ConfigMap default/other (${wait})`,
    'true:5: warning: spec.imagePullSecrets[0].name: no manifest declares Secret default/pull (Declare it with the pod. Until then, images are pulled without it.)',
  ]);
});

test('an error may hide declarations, so there are no such warnings next to it', async () => {
  expect(await warningsOf(pod + settings.replace('name: settings', 'name: Settings!'))).toEqual([]);
});

const keyed = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: app
    env:
    - {name: A, valueFrom: {configMapKeyRef: {name: settings, key: hots}}}
    - {name: B, valueFrom: {secretKeyRef: {name: keys, key: token}}}
    - {name: C, valueFrom: {configMapKeyRef: {name: settings, key: none, optional: true}}}
    - {name: D, valueFrom: {configMapKeyRef: {name: settings, key: host}}}
  volumes:
  - {name: a, configMap: {name: settings, items: [{key: file, path: file}]}}
  - {name: b, projected: {sources: [{secret: {name: keys, items: [{key: file, path: file}]}}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {host: a}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {password: a}
`;

test('a key that a declared object does not have is a warning', async () => {
  const add = 'Add the key, or set "optional: true".';
  const what = (kind: string, key: string, hint = add): string =>
    `${kind} has no key "${key}": the pod waits for it (${hint})`;
  const field = 'spec.containers[0].env';
  expect(await warningsOf(keyed)).toEqual([
    `true:9: warning: ${field}[0].valueFrom.configMapKeyRef.name: ${what('ConfigMap default/settings', 'hots', 'Did you mean "host"?')}`,
    `true:10: warning: ${field}[1].valueFrom.secretKeyRef.name: ${what('Secret default/keys', 'token')}`,
    `true:14: warning: spec.volumes[0].configMap.name: ${what('ConfigMap default/settings', 'file')}`,
    `true:15: warning: spec.volumes[1].projected.sources[0].secret.name: ${what('Secret default/keys', 'file')}`,
  ]);
});

test('a claim that no declared volume fits is a warning that names why', async () => {
  const claim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, selector: {matchLabels: {disk: fast}}}
`;
  const volume = `apiVersion: v1
kind: PersistentVolume
metadata: {name: disk, labels: {disk: slow}}
spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /data}}
`;
  const user = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: app, image: app}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`;
  const warning = (because: string): string =>
    `true:6: warning: spec.volumes[0].persistentVolumeClaim.claimName: PersistentVolumeClaim default/data stays unbound, and the pod waits: no persistent volume fits: ${because} (Declare a PersistentVolume that fits the claim, or remove its selector and class.)`;
  expect(await warningsOf([user, claim].join('---\n'))).toEqual([
    warning('none of its class is declared, and a claim with a selector gets no folder'),
  ]);
  expect(await warningsOf([user, claim, volume].join('---\n'))).toEqual([
    warning('disk: the selector does not match its labels'),
  ]);
  expect(await warningsOf([user, claim, volume.replace('slow', 'fast')].join('---\n'))).toEqual([]);
});
