import type { Command } from 'commander';
import { boolean } from '../node/options/flags.ts';
import { addLogOptions, addNodeOptions } from '../node/options/node-flags.ts';
import { addStatusURLOptions } from '../node/options/status-url-options.ts';
import { addThemeOption } from './run/theme-option.ts';

/**
 * Adds the flags that only `run` supports: of the screen, of the log, of the status URLs, and of the pods to stop at
 * its start.
 */
export function addOwnOptionsOfRun(command: Command): Command {
  return addStatusURLOptions(addThemeOption(addLogOptions(command, 'info')))
    .option('--no-tui', 'print log lines instead of the screen, even on a terminal')
    .option('--prune [boolean]', 'stop pods that no manifest declares, even if none remains (default: false)', boolean);
}

/**
 * Adds the flags of `run` to a command with the same command line. Flags that only `run` supports have no effect there,
 * and --help hides them.
 */
export function addFlagsOfRun(command: Command): Command {
  addNodeOptions(command);
  const known = new Set(command.options);
  for (const option of addOwnOptionsOfRun(command).options) if (!known.has(option)) option.hideHelp();
  return command;
}
