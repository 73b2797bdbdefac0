import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadManifest } from '../../src/engine/config/load-manifest.ts';
import { documents, readDocument, repository } from './documents.ts';

/** What `validate --strict` would report. */
const problemsOf = (text: string, origin: string): string[] =>
  loadManifest(Buffer.from(text), origin, { nodeName: 'edge1' }).problems.map(
    ({ line, field, message }) => `${line}: ${field}: ${message}`,
  );

test.each(readdirSync(`${repository}/manifests`))('a cluster takes manifests/%s as it is', (name) => {
  expect(problemsOf(readDocument(`manifests/${name}`), name)).toEqual([]);
});

/** The examples of whole objects, except those that configure a program. */
const examples = documents.flatMap((page) =>
  [...readDocument(page).matchAll(/^```yaml\n(apiVersion: .*?)^```/gms)]
    .map(([, text = ''], index): [string, number, string] => [page, index + 1, text])
    .filter(([, , text]) => !/^kind: \w+Config(uration)?$/m.test(text)),
);

test.each(examples)('%s: the objects of example %d have no errors', (page, _number, text) => {
  expect(problemsOf(text, page)).toEqual([]);
});

test('an unknown field would be reported', () => {
  const pod =
    'apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec:\n  containers: [{ name: a, image: b, por: 1 }]\n';
  expect(problemsOf(pod, 'web.yaml')).toEqual(['5: spec.containers[0].por: Unknown field "por" is ignored']);
});
