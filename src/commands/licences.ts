import type { Command } from 'commander';
import { getAsset, isSea } from 'node:sea';
import { UserError } from '../errors.ts';
import type { CommandDeps } from './io/deps.ts';

export function register(program: Command, deps: CommandDeps): void {
  program
    .command('licences')
    .description('Print the licences of the software in this executable')
    .option('--sbom', 'print a bill of materials instead, as CycloneDX in JSON')
    .addHelpText('after', examples)
    .action(({ sbom = false }: { sbom?: boolean }) => {
      if (!isSea()) {
        throw new UserError('only the standalone executable contains all licences', {
          hint: 'See the LICENSE files of this package and of Node.',
        });
      }
      deps.stdout.write(getAsset(sbom ? 'sbom.json' : 'licences', 'utf8'));
    });
}

const examples = `
Examples:
  kubelet-ts licences                     prints the licences of kubelet-ts, Node and all libraries
  kubelet-ts licences --sbom > sbom.json  writes a bill of materials for a scanner`;
