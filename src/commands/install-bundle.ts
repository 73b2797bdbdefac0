import { join, resolve, dirname } from 'node:path';
import type { Command } from 'commander';
import { checksumFileOf } from '../containerd/archive-checksum.ts';
import { findContainerd } from '../containerd/find-containerd.ts';
import { managedPaths } from '../containerd/managed-paths.ts';
import { UserError } from '../errors.ts';
import { makeFolder } from '../files/make-folder.ts';
import { replaceFile } from '../files/write-file-atomic.ts';
import { ownName, pluginsFolder, pluginsName } from '../node/bundle/bundled-programs.ts';
import { type InstalledFile, installFiles, readSums } from '../node/bundle/install-files.ts';
import { addRootDirOption } from '../node/options/flags.ts';
import { findProgram, searchFolders } from '../process/find-program.ts';
import { requireRoot } from '../process/needs-root.ts';
import { visible } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';

export function register(program: Command, deps: CommandDeps): void {
  addRootDirOption(program.command('install-bundle'))
    .description('Install kubelet-ts, a container runtime and images from a bundle, without a network')
    .argument('[folder]', 'folder of images bundle --with-programs (default: the folder of this program)')
    .addHelpText('after', help)
    .action(async (folder: string | undefined, { rootDir }: { rootDir: string }) => {
      await installBundle(resolve(folder ?? dirname(process.execPath)), rootDir, deps);
    });
}

const help = `
Verifies the checksums and tries the programs before it installs any. Programs that this machine already has are kept.

Examples:
  ./kubelet-ts install-bundle             on the machine without a network
  kubelet-ts install-service -- --offline pods/   then runs the pods at boot`;

const programsFolder = '/usr/local/bin';
const newPluginsFolder = '/opt/cni/bin';

async function installBundle(folder: string, rootDir: string, deps: CommandDeps): Promise<void> {
  requireRoot();
  const sums = await readSums(folder);
  if (!sums.has(ownName)) throw new UserError(`${folder} is a bundle without programs`);
  const print = (line: string): void => void deps.stdout.write(`${visible(line)}\n`);
  const [own, runtime, plugins] = await Promise.all([
    findProgram(ownName, searchFolders(process.env['PATH'])),
    findContainerd().then(
      ({ containerd }) => containerd,
      () => undefined,
    ),
    pluginsFolder(),
  ]);
  const imagesFolder = managedPaths(rootDir).imagesFolder;
  const files = [...sums].flatMap(([name, sha256]): InstalledFile[] => {
    const file = { name, sha256, mode: 0o755, isTried: false };
    if (name.startsWith(`${pluginsName}/`))
      return plugins === undefined
        ? [{ ...file, target: join(newPluginsFolder, name.slice(pluginsName.length + 1)) }]
        : [];
    if (name.endsWith('.tar')) return [{ ...file, target: join(imagesFolder, name), mode: 0o600 }];
    if (name === ownName)
      return own === undefined ? [{ ...file, target: join(programsFolder, name), isTried: true }] : [];
    const isTried = !name.startsWith('containerd-shim');
    return runtime === undefined ? [{ ...file, target: join(programsFolder, name), isTried }] : [];
  });
  await makeFolder(rootDir, 0o750);
  await installFiles(folder, files);
  for (const { name, sha256, target } of files) {
    if (name.endsWith('.tar')) await replaceFile(checksumFileOf(target), Buffer.from(`${sha256}  ${name}\n`));
  }
  for (const kept of [own, runtime, plugins]) if (kept !== undefined) print(`Kept ${kept} of this machine`);
  for (const folder of new Set(files.map(({ target }) => dirname(target)))) {
    const names = files
      .filter(({ target }) => dirname(target) === folder)
      .map(({ target }) => target.slice(folder.length + 1));
    print(`Installed in ${folder}: ${names.join(', ')}`);
  }
  print(
    'Run your pods: kubelet-ts run --offline MANIFESTS, or at boot: kubelet-ts install-service -- --offline MANIFESTS',
  );
}
