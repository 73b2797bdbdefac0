import { Command } from 'commander';
import { addNodeOptions } from '../../src/node/options/node-flags.ts';
import { type NodeFlags, type NodeOptions, nodeOptions } from '../../src/node/options/node-options.ts';
import { UserError } from '../../src/errors.ts';

/** A start of the kubelet with these flags, which ended at once or not. */
export interface StartCase {
  flags: string[];
  /** `runs` or `exit N` */
  outcome: string;
}

/** Whether the recorded kubelet starts, and whether ours does. The texts of errors are our own. */
export async function replayStart({ flags, outcome }: StartCase): Promise<{ expected: string; actual: string }> {
  try {
    await optionsOf(flags);
    return { expected: outcome, actual: 'runs' };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { expected: outcome, actual: `exit ${error.exitCode}` };
  }
}

/** What `run` makes of these flags. */
export function optionsOf(flags: readonly string[]): Promise<NodeOptions> {
  const command = addNodeOptions(new Command('run')).exitOverride();
  command.configureOutput({ writeErr: () => undefined }).parse(flags, { from: 'user' });
  return nodeOptions(command.opts<NodeFlags>(), []);
}
