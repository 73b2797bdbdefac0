import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { buildKustomization, isKustomization } from '../../../src/node/sources/build-kustomization.ts';
import { readManifests } from '../../../src/node/sources/read-manifests.ts';
import { systemClock } from '../../../src/clock.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { podText } from '../../builders/loaded-manifests.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let bin: string;

beforeEach(async () => {
  bin = await temporaryFolder();
  await writeFile(join(bin, 'kustomization.yaml'), 'resources: []');
  vi.stubEnv('PATH', bin);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Installs a program that runs this script of sh, alone on PATH besides others of the test. */
const install = (name: string, script: string): Promise<void> =>
  writeFile(join(bin, name), `#!/bin/sh\nPATH=${['/bin', '/usr/bin'].join(delimiter)}\n${script}\n`, { mode: 0o755 });

const build = (folder: string) => buildKustomization(folder, { clock: systemClock });

test.each(['kustomization.yaml', 'kustomization.yml', 'Kustomization'])(
  'a folder with %s is a kustomization',
  async (name) => {
    const folder = await temporaryFolder();
    expect([await isKustomization(folder), await isKustomization(join(folder, name))]).toEqual([false, false]);
    await writeFile(join(folder, name), 'resources: [web.yaml]');
    expect([await isKustomization(folder), await isKustomization(join(folder, name))]).toEqual([true, false]);
  },
);

test('kustomize builds it, and kubectl where that is not installed', async () => {
  await install('kubectl', 'echo "kubectl $*"');
  expect(await build('/k')).toEqual({ origin: '/k', bytes: Buffer.from('kubectl kustomize /k\n') });
  await install('kustomize', 'echo "kustomize $*"');
  expect(await build('/k')).toEqual({ origin: '/k', bytes: Buffer.from('kustomize build /k\n') });
});

test('the pods that it makes are read like those of files, with its problems', async () => {
  await writeFile(join(bin, 'pods.yaml'), `${podText('web')}\n---\n${podText('api').replace('image:', 'imag:')}`);
  await install('kustomize', `cat ${join(bin, 'pods.yaml')}`);
  const { pods, problems, where } = await readManifests({
    manifests: [],
    kustomizations: ['/k'],
    nodeName: 'edge1',
    stdin: undefined,
  });
  expect(pods.map(({ metadata }) => metadata.name)).toEqual(['web-edge1']);
  expect(where).toBe('/k');
  expect(problems.map(({ origin, severity, field }) => [origin, severity, field])).toContainEqual([
    '/k',
    'error',
    'spec.containers[0].image',
  ]);
});

test('a missing folder does not fail the build', async () => {
  await install('kustomize', 'exit 1');
  const folder = join(bin, 'none');
  expect(await build(folder)).toEqual({
    origin: folder,
    severity: 'error',
    message: 'no such folder',
    hint: 'Name the folder of a kustomization.yaml. For a URL, run: kustomize build URL',
  });
});

test('a folder without a kustomization does not fail the build', async () => {
  await install('kustomize', 'exit 1');
  const folder = await temporaryFolder();
  expect(await build(folder)).toEqual({
    origin: folder,
    severity: 'error',
    message: 'the folder has no kustomization.yaml',
    hint: 'Create it, or name the folder with -f.',
  });
});

test.each([
  [undefined, 'the folder is a kustomization, but neither kustomize nor kubectl is installed'],
  ['echo making; echo "Error: no base" >&2; exit 1', 'kustomize build failed: Error: no base'],
  ['exit 3', 'kustomize build failed: it exited with code 3'],
  ['kill -9 $$', 'kustomize build failed: it was stopped by SIGKILL'],
  ['exec cat /dev/zero', 'kustomize build failed: its manifests have more than 10 MiB'],
])('%j is the problem of the folder: %s', async (script, message) => {
  if (script !== undefined) await install('kustomize', script);
  const hint =
    script === undefined
      ? 'Install kustomize, or build it elsewhere with kubectl kustomize FOLDER > FILE.yaml and name that file.'
      : `Correct the kustomization until this works: kustomize build ${bin}`;
  expect(await build(bin)).toEqual({ origin: bin, severity: 'error', message, hint });
});

test('a build that takes too long is killed with the processes that it started', async () => {
  const clock = new FakeClock();
  const output = join(bin, 'output');
  await execa('mkfifo', [output], { env: { PATH: '/usr/bin:/bin' } });
  // The pipe ends as soon as the last process has ended.
  await install('kustomize', `exec 3> ${output}; echo begun >&3; sleep 600 >&3`);
  const built = buildKustomization(bin, { clock });
  const pipe = createReadStream(output);
  const ended = once(pipe, 'end');
  await once(pipe, 'data');
  await clock.advance(120_000);
  expect(await built).toEqual({
    origin: bin,
    severity: 'error',
    message: 'kustomize build failed: it took longer than 120 seconds',
    hint: `Correct the kustomization until this works: kustomize build ${bin}`,
  });
  await ended;
});
