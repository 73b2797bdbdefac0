import { type Command, CommanderError } from 'commander';
import { UserError } from '../../errors.ts';

/** The paths among the arguments of a command. Throws a `UserError` for an unknown flag and for a wrong value. */
export function pathsIn(words: readonly string[], command: Command): string[] {
  const { operands } = parsed(words, command);
  const flags = command.options.filter((option) => option.flags.endsWith('<path>'));
  const values = flags.flatMap((flag) => (command.getOptionValue(flag.attributeName()) ?? []) as string | string[]);
  return [...operands, ...values].filter((path) => path !== '');
}

function parsed(words: readonly string[], command: Command): { operands: string[] } {
  try {
    return command.exitOverride().parseOptions([...words]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw new UserError(error.message.replace(/^error: /, ''), {
      hint: `kubelet-ts ${command.name()} --help shows the flags.`,
    });
  }
}
