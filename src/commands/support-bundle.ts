import { resolve } from 'node:path';
import type { Command } from 'commander';
import { inspectedNode } from '../node/doctor/inspected-node.ts';
import type { NodeFlags } from '../node/options/node-options.ts';
import { UserError } from '../errors.ts';
import { writeFailure } from '../files/file-failure.ts';
import { shellLine } from '../text/shell-word.ts';
import { visible } from '../text/visible-text.ts';
import { replaceFile } from '../files/write-file-atomic.ts';
import { addFlagsOfRun } from './flags-of-run.ts';
import type { CommandDeps } from './io/deps.ts';

interface BundleFlags extends NodeFlags {
  output?: string;
}

export function register(program: Command, deps: CommandDeps): void {
  addFlagsOfRun(program.command('support-bundle'))
    .description('Write an archive for a bug report, without secrets')
    .argument('[manifests...]', 'files or folders of manifests, as for run')
    .option('-o, --output <path>', 'archive to write (default: kubelet-ts-support-TIME.tar.gz in this folder)')
    .addHelpText('after', help)
    .action(async (manifests: string[], flags: BundleFlags) => {
      refuseArchive(manifests);
      await writeBundle(manifests, flags, deps);
    });
}

const help = `
The archive has the result of doctor, configuration, manifests, snapshot, histories, statistics, metrics, logs of the
agent, mounts and processes of pods; at most 32 MiB before compression. Only its owner can read it. Values of Secrets,
ConfigMaps, variables, headers and annotations are not in it. Read it before you publish it.

Examples:
  kubelet-ts support-bundle                     also without a running agent
  kubelet-ts support-bundle --config kubelet.yaml -o bundle.tar.gz`;

/** Throws a `UserError` for the name of an archive in the place of a manifest. */
function refuseArchive(manifests: readonly string[]): void {
  const archive = manifests.find((path) => /\.(?:tar\.gz|tgz)$/.test(path));
  if (archive === undefined) return;
  throw new UserError(`${archive} is not a manifest`, {
    hint: `To name the archive: ${shellLine(['kubelet-ts', 'support-bundle', '-o', archive])}`,
  });
}

async function writeBundle(manifests: readonly string[], flags: BundleFlags, deps: CommandDeps): Promise<void> {
  const { supportBundle } = await import('../node/support-bundle/support-bundle.ts');
  const bytes = await supportBundle(await inspectedNode(flags, manifests));
  const time = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
  const path = resolve(flags.output ?? `kubelet-ts-support-${time}.tar.gz`);
  await replaceFile(path, bytes, { mode: 0o600 }).catch((cause: unknown) => {
    throw new UserError(`cannot write ${path}: ${writeFailure(path, cause)}`, { cause });
  });
  deps.stdout.write(`${visible(path)}: ${Math.ceil(bytes.length / 1024)} KiB\n`);
}
