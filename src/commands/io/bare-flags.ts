import { Command } from 'commander';

/**
 * Parses flags with an optional value as kubectl does: the next arg is the value only if it is one of the choices, so
 * `stop --wait web` names the pod web. A flag without a value gets its preset.
 */
export function readBareFlags(command: Command): Command {
  command.parseOptions = (argv) => {
    const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
    const args = argv.map((word, index) => (index < end ? withPreset(command, word, argv[index + 1]) : word));
    return Command.prototype.parseOptions.call(command, args);
  };
  return command;
}

function withPreset({ options }: Command, word: string, next = ''): string {
  const flag = options.find(({ long, optional }) => optional && long === word);
  if (typeof flag?.presetArg !== 'string' || flag.argChoices?.includes(next) === true) return word;
  return `${word}=${flag.presetArg}`;
}
