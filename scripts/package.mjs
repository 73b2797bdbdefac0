// Makes the npm tarball, the executable and the Debian package, for this architecture: package.mjs [folder]
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { makeDebianPackage } from './package/debian.mjs';
import { makeExecutable } from './package/executable.mjs';

const root = join(import.meta.dirname, '..');
const folder = resolve(process.argv[2] ?? join(root, 'dist/packages'));

/** Packs elsewhere first, because npm pack builds dist/ anew, and would pack what it finds there. */
async function makeTarball() {
  const packed = await mkdtemp(join(tmpdir(), 'kubelet-ts-tarball-'));
  try {
    await execa('npm', ['pack', '--pack-destination', packed], { cwd: root });
    const [name] = await readdir(packed);
    await mkdir(folder, { recursive: true });
    await execa('install', ['-m', '0644', join(packed, name), folder]);
  } finally {
    await rm(packed, { recursive: true, force: true });
  }
}

await makeTarball();
await makeExecutable(join(folder, 'kubelet-ts'));
await makeDebianPackage(join(folder, 'kubelet-ts'), folder);
