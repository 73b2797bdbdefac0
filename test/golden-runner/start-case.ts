import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { addNodeOptions } from '../../src/node/options/node-flags.ts';
import { type NodeFlags, type NodeOptions, nodeOptions } from '../../src/node/options/node-options.ts';
import { UserError } from '../../src/errors.ts';

/** A start of the kubelet with these flags, which ended at once or not. */
export interface StartCase {
  flags: string[];
  /** Content of {base}/config.yaml, which a flag may name. */
  config?: string;
  /** `runs` or `exit N` */
  outcome: string;
}

/** Whether the recorded kubelet starts, and whether ours does. The texts of errors are our own. */
export async function replayStart({
  flags,
  config,
  outcome,
}: StartCase): Promise<{ expected: string; actual: string }> {
  try {
    await withConfigFile({ flags, config }, optionsOf);
    return { expected: outcome, actual: 'runs' };
  } catch (error) {
    return { expected: outcome, actual: exitOf(error) };
  }
}

/** Runs `use` with flags that name a file of this content in place of {base}/config.yaml. */
export async function withConfigFile<T>(
  { flags, config = '' }: { flags: readonly string[]; config?: string | undefined },
  use: (flags: readonly string[]) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'golden-start-'));
  try {
    const path = join(folder, 'config.yaml');
    await writeFile(path, config);
    return await use(flags.map((flag) => flag.replace('{base}/config.yaml', path)));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** `exit N` for an error that ends a start, also one of the flag parser. Throws any other. */
export function exitOf(error: unknown): string {
  if (error instanceof UserError || error instanceof CommanderError) return `exit ${error.exitCode}`;
  throw error;
}

/** What `run` makes of these flags. */
export function optionsOf(flags: readonly string[]): Promise<NodeOptions> {
  const command = addNodeOptions(new Command('run')).exitOverride();
  command.configureOutput({ writeErr: () => undefined }).parse(flags, { from: 'user' });
  return nodeOptions(command.opts<NodeFlags>(), []);
}
