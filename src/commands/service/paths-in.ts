import { type Command, CommanderError } from 'commander';
import { UserError } from '../../errors.ts';

/** The paths among the args of a command. Throws a `UserError` for an unknown flag and for an invalid value. */
export function pathsIn(args: readonly string[], command: Command): string[] {
  const flags = command.options.filter((option) => option.flags.endsWith('<path>'));
  // As they are written, because parsers make some of them absolute.
  for (const flag of flags) flag.argParser(asWritten);
  const { operands } = parsed(args, command);
  const values = flags.flatMap((flag) => (command.getOptionValue(flag.attributeName()) ?? []) as string | string[]);
  return [...operands, ...values].filter((path) => path !== '');
}

const asWritten = (text: string, before: unknown): string[] =>
  Array.isArray(before) ? [...(before as string[]), text] : [text];

function parsed(args: readonly string[], command: Command): { operands: string[] } {
  try {
    return command.exitOverride().parseOptions([...args]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw new UserError(error.message.replace(/^error: /, ''), {
      hint: `kubelet-ts ${command.name()} --help shows the flags.`,
    });
  }
}
