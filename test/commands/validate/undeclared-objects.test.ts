import { join } from 'node:path';
import { expect, test } from 'vitest';
import { undeclaredObjects } from '../../../src/commands/validate/undeclared-objects.ts';
import { readManifests } from '../../../src/node/sources/read-manifests.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
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
const settings = '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n';

async function warningsOf(text: string): Promise<string[]> {
  const folder = await temporaryFolder();
  const path = join(folder, 'web.yaml');
  await writeFile(path, text);
  const request = { manifests: [path], nodeName: 'edge1', stdin: undefined, allPlaces: true };
  return undeclaredObjects(await readManifests(request)).map(
    ({ origin, line, field, severity, message, hint }) =>
      `${origin === path}:${line}: ${severity}: ${field}: ${message} (${hint})`,
  );
}

test('each object that no manifest declares is a warning with its place and what to do', async () => {
  const wait = 'Declare it beside the pod, or set "optional: true". The pod waits until then.';
  expect(await warningsOf(pod + settings)).toEqual([
    'true:10: warning: spec.containers[0].envFrom[0].configMapRef.name: no manifest declares ConfigMap default/setings (Did you mean "settings"?)',
    `true:13: warning: spec.containers[0].env[0].valueFrom.secretKeyRef.name: no manifest declares Secret default/keys (${wait})`,
    'true:16: warning: spec.volumes[0].persistentVolumeClaim.claimName: no manifest declares PersistentVolumeClaim default/data (Declare it beside the pod. The pod waits until then.)',
    `true:17: warning: spec.volumes[1].projected.sources[0].configMap.name: no manifest declares ConfigMap default/other (${wait})`,
    'true:5: warning: spec.imagePullSecrets[0].name: no manifest declares Secret default/pull (Declare it beside the pod. Until then images are pulled without it.)',
  ]);
});

test('an error may hide declarations, so there are no such warnings beside it', async () => {
  expect(await warningsOf(pod + settings.replace('name: settings', 'name: Settings!'))).toEqual([]);
});
