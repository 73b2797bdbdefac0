import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { expect, test } from 'vitest';
import { register } from '../../src/commands/apply.ts';
import { LastGoodManifests } from '../../src/engine/config/last-good/last-good-manifests.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

test('apply refuses a namespace that no object can have, by the name of its flag', async () => {
  const rootDir = await temporaryFolder();
  const file = join(rootDir, 'web.yaml');
  await writeFile(file, 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n');
  const program = new Command().exitOverride();
  register(program, makeDeps(makeRuntime([], [])));
  const words = ['apply', '--root-dir', rootDir, '-f', file, '-n', 'Bad_NS'];
  await expect(program.parseAsync(words, { from: 'user' })).rejects.toMatchObject({
    name: 'UserError',
    message:
      '--namespace "Bad_NS" must consist of lower case letters, digits and "-", and start and end with a letter or digit',
  });
});

const pod = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: app, image: app:1}]}\n';

/** Runs `apply` with these words in a root-dir without an agent, whose last one read `file` if it is given. */
async function applyAfter(file: string | undefined, ...words: string[]): Promise<{ stdout: string; stderr: string }> {
  const rootDir = await temporaryFolder();
  if (file !== undefined) {
    const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
    await lastGood.save('file', file, Buffer.from(pod));
  }
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride();
  register(program, deps);
  await program.parseAsync(['apply', '--root-dir', rootDir, ...words], { from: 'user' });
  const { stdout, stderr } = deps.printed;
  return { stdout, stderr };
}

test.each([
  ['an argument', (file: string) => [file]],
  ['-f', (file: string) => ['-f', file]],
])('what no agent reads any more refuses no apply of %s, and is named', async (_how, words) => {
  const file = join(await temporaryFolder(), 'hello.yaml');
  await writeFile(file, pod);
  const start = 'No kubelet-ts runs on this root-dir, so nothing runs yet. Start it: kubelet-ts run\n';
  expect(await applyAfter(file, ...words(file))).toEqual({
    stdout: 'pod/web created\n',
    stderr:
      `warning: ${file} declared pod/web too when kubelet-ts last ran\n` +
      `hint: Start the next one without that file, or delete the object: kubelet-ts delete pod/web\n${start}`,
  });
  expect(await applyAfter(undefined, ...words(file))).toEqual({ stdout: 'pod/web created\n', stderr: start });
});

test('apply keeps no pod that Helm would run at another time', async () => {
  const file = join(await temporaryFolder(), 'chart.yaml');
  const hook = pod.replace('{name: web}', '{name: web-test, annotations: {helm.sh/hook: test}}');
  await writeFile(file, `${pod}---\n${hook}`);
  const { stdout, stderr } = await applyAfter(undefined, file);
  expect(stdout).toBe('pod/web created\n');
  expect(stderr).toContain('Helm runs this only at test: no pod is declared');
});

test('apply without a manifest says how to name one', async () => {
  await expect(applyAfter(undefined)).rejects.toMatchObject({
    message: 'no manifest was named',
    hint: 'Name files or folders, - for stdin, or -k FOLDER.',
  });
});
