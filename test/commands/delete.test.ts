import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { objectsNamed, register } from '../../src/commands/delete.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

/** What `delete` prints on stderr without an agent, which knows no object. */
async function stderrOf(...words: string[]): Promise<string> {
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  register(program, deps);
  await program.parseAsync(['delete', '--root-dir', await temporaryFolder(), ...words], { from: 'user' });
  return deps.printed.stderr;
}

test.each([
  ['--wait', 'web'],
  ['web', '--wait'],
  ['--wait=false', 'web'],
  ['--wait', 'false', 'web'],
  ['--dry-run', 'web'],
  ['--dry-run', 'client', 'web'],
  ['--dry-run=server', 'web'],
])('delete %s %s names the pod web alone', async (...words) => {
  const hint = 'No applied object has this name in namespace default.';
  expect(await stderrOf(...words)).toBe(`error: pods "web" not found\nhint: ${hint}\n`);
});

test.each([
  [
    'deploymnt/web',
    'pods "web"',
    'No applied object has this name in namespace deploymnt. Did you mean deployment/web?',
  ],
  ['confgmap/web', 'pods "web"', 'No applied object has this name in namespace confgmap. Did you mean configmap/web?'],
  ['prod/web', 'pods "web"', 'No applied object has this name in namespace prod.'],
  ['deploy/nope', 'deployments.apps "nope"', 'No applied object has this name in namespace default.'],
  ['ingress/x', 'pods "x"', 'No applied object has this name in namespace ingress.'],
  ['runtimeclass/x', 'runtimeclasses.node.k8s.io "x"', 'No applied object has this name.'],
])('delete %s names no applied object', async (word, what, hint) => {
  expect(await stderrOf(word)).toBe(`error: ${what} not found\nhint: ${hint}\n`);
});

test('delete -f says nothing about fields that have no effect, and leaves out hooks', async () => {
  const file = join(await temporaryFolder(), 'web.yaml');
  const hook =
    'kind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test}}\nspec: {containers: [{name: a, image: b}]}';
  const service = 'kind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, ports: [{port: 80}]}';
  await writeFile(file, [service, hook].map((object) => `apiVersion: v1\n${object}\n`).join('---\n'));
  const hint = 'No applied object has this name in namespace default.';
  expect(await stderrOf('-f', file)).toBe(`error: services "web" not found\nhint: ${hint}\n`);
});

test('a word without a name is answered with all forms', () => {
  expect(() => objectsNamed(['pod/'])).toThrow(
    expect.objectContaining({
      message: '"pod/" names no object',
      hint: 'Name it as NAME, NAMESPACE/NAME, KIND/NAME or KIND/NAMESPACE/NAME.',
    }),
  );
});

test.each([
  [['web'], [{ kind: 'Pod', namespace: 'shop', name: 'web' }]],
  [['pod', 'web', 'db'], ['web', 'db'].map((name) => ({ kind: 'Pod', namespace: 'shop', name }))],
  [['po/web'], [{ kind: 'Pod', namespace: 'shop', name: 'web' }]],
  [['other/web'], [{ kind: 'Pod', namespace: 'other', name: 'web' }]],
  [['deployment/other/web'], [{ kind: 'Deployment', namespace: 'other', name: 'web' }]],
  [['runtimeclass/safe'], [{ kind: 'RuntimeClass', namespace: '', name: 'safe' }]],
  [['pod'], [{ kind: 'Pod', namespace: 'shop', name: 'pod' }]],
])('%j names %j', (words, objects) => {
  expect(objectsNamed(words, 'shop')).toEqual(objects);
});

test.each(['', 'a/b/c', 'pod/', 'pod/a/b/c'])('"%s" names nothing', (word) => {
  expect(() => objectsNamed([word])).toThrow(/names no object/);
});
