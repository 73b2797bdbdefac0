import { access, cp, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import type { TestProject } from 'vitest/node';
import { findContainerd } from '../../src/containerd/find-containerd.ts';
import { kernelTunables } from '../../src/node/kernel-tunables.ts';
import { errorMessage, UserError } from '../../src/errors.ts';
import { buildTestImages } from '../images/build-test-images.ts';

const repository = join(import.meta.dirname, '../..');

/** Creates what every e2e test needs. On a machine where the tests cannot run, it fails instead of skipping them. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await checkMachine();
  const settings = await kernelSettings();
  const [program] = await Promise.all([buildProgram(), buildTestImages(join(repository, '.cache/images'))]);
  project.provide('program', program);
  return async () => {
    for (const [path, value] of settings) await writeFile(path, value);
  };
}

/** Reads the kernel settings that an agent changes, by path. */
async function kernelSettings(): Promise<[string, string][]> {
  const paths = Object.keys(kernelTunables).map((name) => join('/proc/sys', ...name.split('.')));
  return Promise.all(paths.map(async (path): Promise<[string, string]> => [path, await readFile(path, 'utf8')]));
}

async function checkMachine(): Promise<void> {
  const lacks: string[] = [];
  if (process.getuid?.() !== 0) lacks.push('root: run them with sudo');
  await findContainerd().catch((error: unknown) => {
    const hint = error instanceof UserError && error.hint !== undefined ? `: ${error.hint}` : '';
    lacks.push(`${errorMessage(error)}${hint}`);
  });
  for (const [name, debianPackage] of [
    ['tmux', 'tmux'],
    ['ip', 'iproute2'],
    ['nsenter', 'util-linux'],
  ] as const) {
    if ((await execa('which', [name], { reject: false })).exitCode !== 0) {
      lacks.push(`${name} is not installed: apt-get install ${debianPackage}`);
    }
  }
  if (lacks.length > 0) throw new Error(`The e2e tests cannot run on this machine:\n- ${lacks.join('\n- ')}`);
}

/**
 * Returns the path of the program, built from the current sources. It is not `dist`, and every state of the sources
 * gets a separate folder: a build at the same time must not remove the program under running tests.
 */
async function buildProgram(): Promise<string> {
  const sources = [
    'src',
    'bin',
    'proto',
    'scripts/build.mjs',
    'scripts/bundle-options.mjs',
    'scripts/no-devtools.mjs',
    'scripts/package',
    'package.json',
  ].map((name) => join(repository, name));
  const newest = Math.max(...(await Promise.all(sources.map(newestChange))));
  const builds = join(repository, '.cache/e2e');
  const folder = join(builds, String(Math.trunc(newest)));
  const program = join(folder, 'bin/kubelet-ts');
  await mkdir(builds, { recursive: true });
  await removeOldBuilds(builds);
  if (await exists(folder)) return program;
  const unfinished = `${folder}.${process.pid}`;
  await cp(join(repository, 'bin'), join(unfinished, 'bin'), { recursive: true, verbatimSymlinks: true });
  await cp(join(repository, 'package.json'), join(unfinished, 'package.json'));
  await symlink(join(repository, 'src'), join(unfinished, 'src'));
  await execa(join(repository, 'scripts/generate'));
  await execa('node', [join(repository, 'scripts/build.mjs')], { cwd: unfinished });
  // Another run may have been faster.
  if (!(await exists(folder))) await rename(unfinished, folder);
  return program;
}

async function removeOldBuilds(builds: string): Promise<void> {
  const hourMs = 3_600_000;
  for (const name of await readdir(builds)) {
    const { mtimeMs } = await stat(join(builds, name));
    if (Date.now() - mtimeMs > hourMs) await rm(join(builds, name), { recursive: true, force: true });
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Returns the time of the newest file at a path. */
async function newestChange(path: string): Promise<number> {
  const stats = await stat(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.endsWith('/generated'));
  const times = files.map(async (file) => (await stat(join(file.parentPath, file.name))).mtimeMs);
  return Math.max(stats.mtimeMs, ...(await Promise.all(times)));
}
