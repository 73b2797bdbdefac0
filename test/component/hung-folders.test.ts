import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { FileSource } from '../../src/engine/config/file/file-source.ts';
import type { SourceUpdate } from '../../src/engine/config/pod-source.ts';
import { findDeclaringObject } from '../../src/commands/objects/declaring-object.ts';
import { readManifests } from '../../src/node/sources/read-manifests.ts';
import { hungMount } from '../support/hung-mount.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const pod = (name: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: { name: ${name} }\nspec: { containers: [{ name: main, image: "app:1" }] }\n`;

const hungProblem = (path: string): object => ({
  origin: path,
  severity: 'error',
  message: 'its file system does not answer',
  hint: `Check its server, then check it: findmnt -T ${path}.`,
});

test('folders whose file system hangs delay the others once, are reported, and are read when it answers', async () => {
  const folder = await temporaryFolder();
  const [mounted, good] = ['mounted', 'good'].map((name) => join(folder, name)) as [string, string];
  await mkdir(mounted);
  await mkdir(good);
  await writeFile(join(good, 'web.yaml'), pod('web'));
  const mount = await hungMount(mounted);
  // More than Node has threads.
  const hung = [mounted, ...['a', 'b', 'c', 'd', 'e'].map((name) => join(mounted, name))];
  const source = new FileSource({
    paths: [...hung, good],
    nodeName: 'edge1',
    fileCheckFrequencyMs: 3_600_000,
    clock: systemClock,
    logger: silentLogger,
  });
  const stopping = new AbortController();
  const updates: SourceUpdate[] = [];
  let heard = (): void => undefined;
  const until = async (isSo: (update: SourceUpdate) => boolean): Promise<SourceUpdate> => {
    for (;;) {
      const newest = updates.at(-1);
      if (newest !== undefined && isSo(newest)) return newest;
      await new Promise<void>((resolve) => (heard = resolve));
    }
  };
  const onUpdate = (update: SourceUpdate): void => {
    updates.push(update);
    heard();
  };
  const ended = source.run({ onUpdate, onProblems: () => undefined }, stopping.signal);
  ended.catch(() => undefined);
  onTestFinished(async () => {
    stopping.abort(new Error('stop'));
    await mount.release();
  });
  const begunAt = Date.now();
  const first = await until(() => true);
  // One after the other they would take 5 s each.
  expect(Date.now() - begunAt).toBeLessThan(25_000);
  expect(first.pods.map(({ metadata }) => metadata.name)).toEqual(['web-edge1']);
  expect(first.problems).toEqual(hung.map(hungProblem));

  await writeFile(join(good, 'db.yaml'), pod('db'));
  const askedAt = Date.now();
  await source.settle();
  expect(Date.now() - askedAt).toBeLessThan(5000);
  expect((await until(({ pods }) => pods.length === 2)).problems).toEqual(hung.map(hungProblem));

  await mount.release();
  const back = await until(({ problems }) => !problems.some(({ message }) => message.includes('does not answer')));
  expect(back.pods).toHaveLength(2);
});

test('a source whose first look hangs ends at once when it is stopped', async () => {
  const folder = await temporaryFolder();
  const mount = await hungMount(folder);
  onTestFinished(() => mount.release());
  const source = new FileSource({
    paths: [folder],
    nodeName: 'edge1',
    fileCheckFrequencyMs: 20_000,
    clock: systemClock,
    logger: silentLogger,
  });
  const stopping = new AbortController();
  const ended = source.run({ onUpdate: () => undefined, onProblems: () => undefined }, stopping.signal);
  const begunAt = Date.now();
  setImmediate(() => {
    stopping.abort(new Error('stop'));
  });
  await expect(ended).rejects.toThrow('stop');
  expect(Date.now() - begunAt).toBeLessThan(5000);
});

test('commands that read manifests name a folder that hangs, and explain a pod without its line', async () => {
  const folder = await temporaryFolder();
  const hung = join(folder, 'hung');
  await mkdir(hung);
  await writeFile(join(folder, 'web.yaml'), pod('web'));
  const mount = await hungMount(hung);
  onTestFinished(() => mount.release());
  const request = {
    nodeName: 'edge1',
    stdin: undefined,
    manifests: [hung, join(folder, 'web.yaml')],
    kustomizations: [hung],
  };
  const { pods, problems } = await readManifests(request);
  expect({ pods: pods.map(({ metadata }) => metadata.name), problems }).toEqual({
    pods: ['web-edge1'],
    problems: [hungProblem(hung), hungProblem(hung)],
  });
  const sources = [hung, join(folder, 'web.yaml')].map((where) => ({ source: 'file', where }) as const);
  expect((await findDeclaringObject(sources, { names: ['web'] }))?.file).toBe(join(folder, 'web.yaml'));
});
