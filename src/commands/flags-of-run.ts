import type { Command } from 'commander';
import { boolean } from '../node/options/flags.ts';
import { addLogOptions, addNodeOptions } from '../node/options/node-flags.ts';
import { addThemeOption } from './run/theme-option.ts';

/** Adds the flags that only `run` carries out: of the screen, of the log, and of what it stops at its start. */
export function addOwnOptionsOfRun(command: Command): Command {
  return addThemeOption(addLogOptions(command, 'info'))
    .option('--no-tui', 'log lines instead of the screen, also on a terminal')
    .option(
      '--prune [boolean]',
      'stop pods that no manifest declares, even if these are all pods (default: false)',
      boolean,
    );
}

/**
 * Adds the flags of `run`, for a command that takes its command line. Those that only `run` carries out have no
 * effect there, and --help hides them.
 */
export function addFlagsOfRun(command: Command): Command {
  addNodeOptions(command);
  const known = new Set(command.options);
  for (const option of addOwnOptionsOfRun(command).options) if (!known.has(option)) option.hideHelp();
  return command;
}
