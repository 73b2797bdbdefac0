import { readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, expect, test } from 'vitest';

const repository = new URL('../../', import.meta.url).pathname;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp('/tmp/kts-docs-');
  for (const name of ['bin', 'dist', 'manifests', 'scripts', 'node_modules', 'test', 'src', 'package.json', '.cache']) {
    await symlink(join(repository, name), join(folder, name));
  }
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('the tour of the README runs as it stands', async () => {
  const { exitCode, all } = await bash(examplesOf('README.md').join('\n'));
  expect({ exitCode, all }).toEqual({ exitCode: 0, all: expect.stringContaining('default/job-') as string });
  expect(all).toContain('completed');
  expect(all).toContain('pod/web condition met');
  expect(all).toMatch(/default +web-\S+ +1\/1 +Running +0/);
  expect(all).toMatch(/Hello from web-/);
  expect(all).toContain('managed containerd stopped');
});

test('the examples of docs/ci.md run as they stand', async () => {
  const setup = [
    'export PATH="$PWD/bin:$PATH"',
    'mkdir -p "$KUBELET_TS_ROOT_DIR/images" && cp .cache/images/busybox.tar "$KUBELET_TS_ROOT_DIR/images/"',
  ];
  const { exitCode, stdout } = await bash([...setup, ...examplesOf('docs/ci.md'), 'kubelet-ts down --all'].join('\n'));
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^default\/job-\S+: completed\n/);
});

test('the examples of docs/manifests.md run as they stand', async () => {
  const { exitCode, stdout, all } = await bash(
    ['export PATH="$PWD/bin:$PATH"', ...examplesOf('docs/manifests.md')].join('\n'),
  );
  expect({ exitCode, all }).toMatchObject({ exitCode: 0 });
  expect(stdout).toContain('method: RunPodSandbox');
  expect(stdout).toMatch(/^\+ start {4}default\/job-\S+ \(no pod of this name runs\)$/m);
});

/** The blocks of a document that are marked `sh`. */
function examplesOf(document: string): string[] {
  const text = readFileSync(join(repository, document), 'utf8');
  return [...text.matchAll(/^```sh[^\n]*\n(.*?)^```$/gms)].map(([, code = '']) => code);
}

async function bash(script: string): Promise<{ exitCode: number | undefined; all: string; stdout: string }> {
  const env = { KUBELET_TS_ROOT_DIR: join(folder, 'state') };
  // Job control, so that `kill %1` of the tour works; every line must succeed.
  const { exitCode, all, stdout } = await execa('bash', ['-e', '-m', '-c', script], {
    cwd: folder,
    env,
    all: true,
    reject: false,
    stdin: 'ignore',
    timeout: 90_000,
  });
  return { exitCode, all, stdout };
}
