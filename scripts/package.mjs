// Builds the npm tarball, the executable and the Debian package for this architecture: package.mjs [folder]
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { execa } from 'execa';
import { makeDebianPackage } from './package/debian.mjs';
import { makeExecutable } from './package/executable.mjs';

const root = join(import.meta.dirname, '..');
const usage = `Usage: npm run package -- [folder]

Makes the npm tarball, the executable, the Debian package, the list of their components (CycloneDX) and checksums,
for this architecture. They are written into the folder, or into dist/packages.
`;

const folder = folderOf(process.argv.slice(2));

/** Exits after `--help` and on a wrong argument. */
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

/** Packs elsewhere first, because npm pack rebuilds dist/ and would pack what it finds there. */
async function makeTarball() {
  const packed = await mkdtemp(join(tmpdir(), 'kubelet-ts-tarball-'));
  try {
    await execa('npm', ['pack', '--pack-destination', packed], { cwd: root });
    const [name] = await readdir(packed);
    await mkdir(folder, { recursive: true });
    await execa('install', ['-m', '0644', join(packed, name), folder]);
    return join(folder, name);
  } finally {
    await rm(packed, { recursive: true, force: true });
  }
}

async function writeBillOfMaterials(executable) {
  const file = `${executable}.cdx.json`;
  const { stdout } = await execa(executable, ['licences', '--sbom']);
  await writeFile(file, `${stdout}\n`);
  return file;
}

/** Writes SHA256SUMS, which `sha256sum --check` reads, and prints one line per file. */
async function listFiles(files) {
  const lines = [];
  for (const file of files) {
    const content = await readFile(file);
    lines.push(`${createHash('sha256').update(content).digest('hex')}  ${basename(file)}\n`);
    const size =
      content.length < 1e6 ? `${Math.ceil(content.length / 1e3)} kB` : `${(content.length / 1e6).toFixed(1)} MB`;
    process.stdout.write(`${size.padStart(8)}  ${relative(process.cwd(), file)}\n`);
  }
  await writeFile(join(folder, 'SHA256SUMS'), lines.join(''));
}

const tarball = await makeTarball();
const executable = join(folder, 'kubelet-ts');
await makeExecutable(executable);
const debianPackage = await makeDebianPackage(executable, folder);
await listFiles([tarball, executable, debianPackage, await writeBillOfMaterials(executable)]);
