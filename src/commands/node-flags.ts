import { Command, Option } from 'commander';
import { addConfigurationFlags } from './add-configuration-flags.ts';
import { collect, list } from './flag-values.ts';
import { addFlagsWithoutEffect } from './flags-without-effect.ts';
import { addRuntimeOptions } from './flags.ts';
import { addManifestURLOptions } from './manifest-url-flags.ts';

/** Adds the flags that make a node: of `run` and `run-once`. Durations are Go's: 20s, 1m30s. */
export function addNodeOptions(command: Command): Command {
  addManifestURLOptions(addRuntimeOptions(command))
    .option('--pod-manifest-path <path>', 'file or folder of pod manifests; repeatable', collect)
    .option('--hostname-override <name>', 'node name, in place of the host name')
    .option('--node-ip <ip>', 'address of the node; one of each family', list)
    .option('--image-credential-provider-config <path>', 'file of the programs that know registry credentials')
    .option('--image-credential-provider-bin-dir <path>', 'folder of these programs')
    .option('--node-labels <key=value>', 'more labels of the node, for nodeSelector and affinity', list);
  return readBooleansAsGo(addFlagsWithoutEffect(addConfigurationFlags(command)));
}

/** Adds the flags of the agent's log. */
export function addLogOptions(command: Command, defaultLevel: string): Command {
  const levels = ['debug', 'info', 'warn', 'error'];
  return command
    .addOption(new Option('--log-format <format>', 'form of the log lines (default: text)').choices(['text', 'json']))
    .addOption(new Option('--log-level <level>', `what is logged (default: ${defaultLevel})`).choices(levels));
}

/** The value of a boolean flag is never the next word, so that `--seccomp-default pods/` names a folder. */
function readBooleansAsGo(command: Command): Command {
  const isAlone = (word: string): boolean => command.options.some(({ long, optional }) => optional && long === word);
  command.parseOptions = (argv) => {
    const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
    const words = argv.map((word, index) => (index < end && isAlone(word) ? `${word}=true` : word));
    return Command.prototype.parseOptions.call(command, words);
  };
  return command;
}
