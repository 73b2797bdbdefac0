import { Command } from 'commander';
import { UserError } from '../../errors.ts';
import { shellLine } from '../../text/shell-word.ts';

/**
 * Refuses flags after the first arg of a command in a container, unless `--` comes before, because they could be for
 * either program.
 */
export function refuseFlagsOfCommands(command: Command): Command {
  command.parseOptions = (argv) => {
    const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
    const args = argv.slice(0, end);
    const at = commandIndex(command, args);
    const flag = args.slice(at).find((word) => isFlag(word));
    if (flag !== undefined) {
      const separated = ['kubelet-ts', command.name(), ...argv.slice(0, at), '--', ...argv.slice(at)];
      throw new UserError(`${flag} follows the command without --, so it could be for either program`, {
        hint: `If it is for the command: ${shellLine(separated)}. Otherwise write it before the command.`,
      });
    }
    return Command.prototype.parseOptions.call(command, argv);
  };
  return command;
}

const isFlag = (word: string): boolean => word.startsWith('-') && word !== '-';

/** The index of the second arg that is neither a flag nor a flag's value. The first one is the pod. */
function commandIndex(command: Command, words: readonly string[]): number {
  const isValue = (index: number): boolean => hasValueNext(command, words[index - 1] ?? '');
  const [, second = words.length] = words.flatMap((word, index) => (isFlag(word) || isValue(index) ? [] : [index]));
  return second;
}

/** True if the next arg is the value of this flag, or of the last one in a group such as `-itc`. */
function hasValueNext({ options }: Command, word: string): boolean {
  if (word.startsWith('--')) return options.some(({ long, required }) => required && long === word);
  const hasValue = (letter: string): boolean =>
    options.some(({ short, required }) => required && short === `-${letter}`);
  return isFlag(word) && Array.from(word.slice(1)).findIndex(hasValue) === word.length - 2;
}
