import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readManifests } from '../../../src/node/sources/read-manifests.ts';
import { podText } from '../../builders/loaded-manifests.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test.each([
  ['a pod', podText('web'), { line: 3, column: 18, repeatedPod: { namespace: 'default', name: 'web-edge1' } }],
  ['a ConfigMap', 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n', { line: 4, column: 9 }],
])('the name of %s that two files declare has a place', async (_what, text, place) => {
  const folder = await temporaryFolder();
  const [first, second] = [join(folder, 'a.yaml'), join(folder, 'b.yaml')];
  for (const path of [first, second]) await writeFile(path, text);
  const request = { manifests: [first, second], nodeName: 'edge1', stdin: undefined, allPositions: true };
  const { problems } = await readManifests(request);
  expect(problems).toEqual([
    {
      origin: second,
      field: 'metadata.name',
      message: expect.stringMatching(` is declared by ${first} already$`) as string,
      hint: 'Give one of them another name.',
      severity: 'error',
      ...place,
    },
  ]);
});
