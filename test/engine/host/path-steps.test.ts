import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { type PathStep, pathSteps } from '../../../src/engine/host/path-steps.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;

beforeEach(async () => {
  folder = await realpath(await temporaryFolder());
});

const at = (...names: string[]): string => join(folder, ...names);
/** Steps as paths below the folder. */
const below = (steps: readonly PathStep[]): string[] =>
  steps.map((step) => join(step.folder, step.name).replace(`${folder}/`, ''));

test('of a path without links the last entry alone decides', async () => {
  await mkdir(at('a/b'), { recursive: true });
  await writeFile(at('a/b/pod.yaml'), '');
  expect(await pathSteps(at('a/b/pod.yaml'))).toEqual([{ folder: at('a/b'), name: 'pod.yaml' }]);
});

test('every link on the way decides, wherever it leads', async () => {
  await mkdir(at('v1'));
  await writeFile(at('v1/pod.yaml'), '');
  await symlink('v1', at('current'));
  await mkdir(at('links'));
  await symlink(at('current/pod.yaml'), at('links/absolute.yaml'));
  await symlink('../current/./pod.yaml', at('links/relative.yaml'));
  expect(below(await pathSteps(at('links/absolute.yaml')))).toEqual(['links/absolute.yaml', 'current', 'v1/pod.yaml']);
  expect(below(await pathSteps(at('links/relative.yaml')))).toEqual(['links/relative.yaml', 'current', 'v1/pod.yaml']);
});

test('the first entry that is missing is the last that decides', async () => {
  await mkdir(at('etc'));
  expect(below(await pathSteps(at('etc/kubernetes/manifests')))).toEqual(['etc/kubernetes']);
  await symlink('nowhere/pod.yaml', at('etc/pod.yaml'));
  expect(below(await pathSteps(at('etc/pod.yaml')))).toEqual(['etc/pod.yaml', 'etc/nowhere']);
});

test('a path may be relative to a folder', async () => {
  await writeFile(at('pod.yaml'), '');
  await mkdir(at('a'));
  expect(below(await pathSteps('../pod.yaml', at('a')))).toEqual(['pod.yaml']);
});

test('links in a circle come to an end', async () => {
  await symlink('two', at('one'));
  await symlink('one', at('two'));
  const steps = below(await pathSteps(at('one')));
  expect([...new Set(steps)]).toEqual(['one', 'two']);
  expect(steps).toHaveLength(41);
});

test('the root has no entry that decides', async () => {
  expect(await pathSteps('/')).toEqual([]);
});
