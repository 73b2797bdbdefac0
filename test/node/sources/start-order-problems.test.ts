import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readManifests } from '../../../src/node/sources/read-manifests.ts';
import { podText } from '../../builders/loaded-manifests.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const after = (name: string, dependsOn: string): string =>
  podText(name).replace(`{name: ${name}}`, `{name: ${name}, annotations: {kubelet-ts.io/depends-on: "${dependsOn}"}}`);

const jobAfter = (name: string, dependsOn: string): string =>
  [
    'apiVersion: batch/v1',
    'kind: Job',
    `metadata: {name: ${name}}`,
    'spec:',
    '  template:',
    '    metadata:',
    '      annotations:',
    `        kubelet-ts.io/depends-on: ${dependsOn}`,
    '    spec: {restartPolicy: Never, containers: [{name: main, image: app:1}]}',
    '',
  ].join('\n');

async function problemsOf(files: Record<string, string>, stdin?: string): Promise<string[]> {
  const folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const manifests = stdin === undefined ? [folder] : [folder, '-'];
  const { problems } = await readManifests({
    manifests,
    nodeName: 'edge1',
    stdin: stdin === undefined ? stdin : Buffer.from(stdin),
  });
  return problems.map(({ origin, line, column, field, severity, message, hint }) =>
    [origin.replace(`${folder}/`, ''), line, column, severity, field, message, hint].join(' '),
  );
}

const field = 'metadata.annotations[kubelet-ts.io/depends-on]';

test('pods of several files that wait for each other are errors where each says so', async () => {
  expect(
    await problemsOf({
      'a.yaml': `# first\n${after('a', 'b')}`,
      'b.yaml': `${podText('free')}---\n${jobAfter('b', 'c')}`,
      'c.json': JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'c', annotations: { 'kubelet-ts.io/depends-on': 'default/a-edge1' } },
        spec: { containers: [{ name: 'main', image: 'app:1' }] },
      }),
    }),
  ).toEqual([
    `a.yaml 4 61 error ${field} default/a waits for default/b, which waits for default/c, which waits for default/a None of them would ever start. Remove one of the names.`,
    `b.yaml 13 35 error spec.template.${field} default/b waits for default/c, which waits for default/a, which waits for default/b None of them would ever start. Remove one of the names.`,
    `c.json 1 98 error ${field} default/c waits for default/a, which waits for default/b, which waits for default/c None of them would ever start. Remove one of the names.`,
  ]);
});

test('pods of files and of stdin are one set', async () => {
  expect(await problemsOf({ 'a.yaml': after('a', 'b') }, podText('b'))).toEqual([]);
  expect(await problemsOf({ 'a.yaml': podText('a') }, after('b', 'a'))).toEqual([]);
});

test('a pod that no manifest declares is a warning, with the name that may have been meant', async () => {
  expect(await problemsOf({ 'a.yaml': after('a', 'ectd,db'), 'etcd.yaml': podText('etcd') })).toEqual([
    `a.yaml 3 61 warning ${field} no manifest declares pod default/ectd Did you mean "default/etcd"?`,
    `a.yaml 3 61 warning ${field} no manifest declares pod default/db The pod waits until one is.`,
  ]);
});
