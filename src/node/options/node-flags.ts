import { Command, Option } from 'commander';
import { nearestName } from '../../api/text/nearest-name.ts';
import { UserError } from '../../errors.ts';
import { addConfigurationFlags } from './add-configuration-flags.ts';
import { addRuntimeOptions, boolean, collect, duration, integerOf, list } from './flags.ts';
import { addFlagsWithoutEffect } from './flags-without-effect.ts';
import { addManifestURLOptions } from './manifest-url-options.ts';

/** Adds the flags of a node, for `run` and `run-once`. Durations are Go's: 20s, 1m30s. */
export function addNodeOptions(command: Command): Command {
  addManifestURLOptions(addRuntimeOptions(command))
    .option('--pod-manifest-path <path>', 'file or folder of pod manifests; repeatable', collect)
    .option('--hostname-override <name>', 'node name (default: the host name)')
    .option('--node-ip <ip>', 'address of the node; one per family', list)
    .option(
      '--image-credential-provider-config <path>',
      'file that lists the programs for registry credentials, or folder of such files',
    )
    .option('--image-credential-provider-bin-dir <path>', 'folder of these programs')
    .option(
      '--in-place [boolean]',
      'change images, cpu and memory of running pods in place (default: true); false replaces the pod',
      boolean,
    )
    .addOption(
      new Option('--offline [boolean]', 'refuse pulls: run only images that the container runtime has (default: false)')
        .argParser(boolean)
        .env('KUBELET_TS_OFFLINE'),
    )
    .option(
      '--keep-damaged-store [boolean]',
      'fail if the store of the managed containerd is damaged, instead of replacing it (default: false)',
      boolean,
    )
    .option('--cert-dir <path>', 'folder of the generated serving certificate (default: pki in the root-dir)')
    .option('--token-auth-file <path>', 'file of the bearer tokens that the HTTPS API accepts')
    .option('--authorization-policy-file <path>', 'file of the rules for clients of the HTTPS API')
    .option(
      '--network-plugin-mtu <bytes>',
      "MTU of the managed containerd's pod network (default: the uplink's)",
      integerOf(32),
    )
    .option('--service-cidr <cidr>', 'subnets for the addresses of Services, one per family (default: a free /22)')
    .option('--node-labels <key=value>', 'additional labels of the node, for nodeSelector and affinity', list)
    .option(
      '--maximum-dead-containers-per-container <n>',
      'number of exited instances to keep per container (default: 1)',
      integerOf(32),
    )
    .option(
      '--maximum-dead-containers <n>',
      'number of exited containers to keep on the node; negative: no limit (default: -1)',
      integerOf(32),
    )
    .option(
      '--minimum-container-ttl-duration <duration>',
      'keep exited containers that are younger than this, counted from their creation (default: 0s)',
      duration,
    );
  return readFlagsAsGo(addFlagsWithoutEffect(addConfigurationFlags(command)));
}

/** Adds the flags of the agent's log. */
export function addLogOptions(command: Command, defaultLevel: string): Command {
  const levels = ['debug', 'info', 'warn', 'error'];
  return command
    .addOption(
      new Option('--log-format <format>', 'format of the log lines on stderr (default: text)').choices([
        'text',
        'json',
      ]),
    )
    .addOption(
      new Option('--log-level <level>', `least severe level to log (default: ${defaultLevel})`).choices(levels),
    );
}

/**
 * Parses flags as the kubelet does. The value of a boolean flag is never the next arg, so `--seccomp-default pods/`
 * names a folder. Underscores in a name are dashes. An unknown flag is a `UserError` that suggests the nearest one,
 * even if --help hides it. kubelet: cliflag WordSepNormalizeFunc
 */
function readFlagsAsGo(command: Command): Command {
  const isAlone = (word: string): boolean => command.options.some(({ long, optional }) => optional && long === word);
  command.parseOptions = (argv) => {
    const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
    const words = argv.map((word, index) => {
      if (index >= end) return word;
      const flag = word.replace(/^--\w[^=]*/, (name) => name.replaceAll('_', '-'));
      return isAlone(flag) ? `${flag}=true` : flag;
    });
    const parsed = Command.prototype.parseOptions.call(command, words);
    refuseUnknownFlag(command, parsed.unknown);
    return parsed;
  };
  return command;
}

function refuseUnknownFlag(command: Command, [unknown]: readonly string[]): void {
  if (unknown === undefined || unknown === '--help' || unknown === '-h') return;
  const [flag = ''] = unknown.split('=');
  const names = command.options.flatMap(({ long }) => long ?? []);
  const near = flag.startsWith('--') ? nearestName(flag, names) : undefined;
  throw new UserError(`unknown flag: ${flag}`, {
    hint: near === undefined ? `kubelet-ts ${command.name()} --help lists the flags.` : `Did you mean ${near}?`,
  });
}
