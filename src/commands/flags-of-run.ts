import type { Command } from 'commander';
import { addLogOptions, addNodeOptions } from '../node/options/node-flags.ts';
import { addThemeOption } from './run/theme-option.ts';

/** Adds the flags of the screen and of the log. */
export function addOutputOptions(command: Command): Command {
  return addThemeOption(addLogOptions(command, 'info')).option(
    '--no-tui',
    'log lines instead of the screen, also on a terminal',
  );
}

/**
 * Adds the flags of `run`, for a command that takes its command line. Those of the screen and of the log have no effect
 * there, and --help hides them.
 */
export function addFlagsOfRun(command: Command): Command {
  addNodeOptions(command);
  const known = new Set(command.options);
  for (const option of addOutputOptions(command).options) if (!known.has(option)) option.hideHelp();
  return command;
}
