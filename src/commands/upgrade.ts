import { type Command, InvalidArgumentError } from 'commander';
import { parsePublicKey, parseSHA256 } from '../node/options/manifest-url-options.ts';
import { addRootDirOption, collect, duration } from '../node/options/flags.ts';
import type { CommandDeps } from './io/deps.ts';
import type { UpgradeFlags } from './upgrade/upgrade-program.ts';

export function register(program: Command, deps: CommandDeps): void {
  addRootDirOption(program.command('upgrade <program>'))
    .description('Replace this executable by another release, and restart its service. Pods keep running')
    .option('--check', 'only report what would happen')
    .option('--sha256 <hex>', 'SHA-256 of the program (default: from PROGRAM.sha256)', (hex) =>
      parseSHA256(hex, '--sha256'),
    )
    .option('--public-key <key>', 'minisign key that must have signed the program; repeatable', publicKeys)
    .option('--cosign-key <path>', 'cosign public key that must have signed the program; repeatable', collect)
    .option('--url-header <name:value>', 'header sent to the server of the program; repeatable', collect)
    .option('--url-ca-file <path>', 'authorities to trust instead of the well-known ones')
    .option('--url-cert-file <path>', 'client certificate for the server')
    .option('--url-key-file <path>', 'key of the client certificate')
    .option('--url-token-file <path>', 'bearer token for the server')
    .option('--force', 'replace it even by a release that may not read the state')
    .option('--timeout <duration>', 'how long to wait until the new program is healthy (default: 5m)', upToADay)
    .addHelpText('after', help)
    .action(async (location: string, flags: UpgradeFlags) => {
      await (await import('./upgrade/upgrade-program.ts')).upgradeProgram(location, flags, deps);
    });
}

function upToADay(text: string): number {
  const ms = duration(text);
  if (ms <= 24 * 60 * 60 * 1000) return ms;
  throw new InvalidArgumentError('It must be at most 24h.');
}

const publicKeys = (
  text: string,
  keys: ReturnType<typeof parsePublicKey>[] = [],
): ReturnType<typeof parsePublicKey>[] => [...keys, parsePublicKey(text, '--public-key')];

const help = `
PROGRAM is a file or a URL. A program from a URL needs a checksum or a signature: URL.sha256, URL.minisig or
URL.sigstore.json. Everything that can fail happens while the old program runs. It is kept as kubelet-ts.previous. If the
new one does not become healthy in three starts, the service restores it.

Examples:
  kubelet-ts upgrade ./kubelet-ts --check
  kubelet-ts upgrade https://releases.example/kubelet-ts --public-key RWQ…
  kubelet-ts upgrade /usr/local/bin/kubelet-ts.previous     goes back`;
