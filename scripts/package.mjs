// Makes the npm tarball, the executable and the Debian package, for this architecture: package.mjs [folder]
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { makeDebianPackage } from './package/debian.mjs';
import { makeExecutable } from './package/executable.mjs';

const root = join(import.meta.dirname, '..');
const usage = `Usage: npm run package -- [folder]

Makes the npm tarball, the executable and the Debian package, for this architecture.
They are written into the folder, or into dist/packages.
`;

const folder = folderOf(process.argv.slice(2));

/** Ends the process after `--help`, and after a mistake. */
function folderOf(words) {
  try {
    const { values, positionals } = parseArgs({
      args: words,
      options: { help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
    if (values.help === true) {
      process.stdout.write(usage);
      process.exit(0);
    }
    if (positionals.length > 1) throw new Error('one folder is enough');
    return resolve(positionals[0] ?? join(root, 'dist/packages'));
  } catch (error) {
    process.stderr.write(`error: ${error.message.split('. ', 1)[0]}\n${usage}`);
    process.exit(2);
  }
}

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
