import { type Command, CommanderError, Option } from 'commander';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { systemClock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { controlSocketPath, fetchSnapshot } from '../server/control-client.ts';
import type { CommandDeps } from './deps.ts';
import { addConfigurationFlags, flagsLayer } from './add-configuration-flags.ts';
import { addRuntimeOptions } from './flags.ts';
import { computeNodeDiff, type NodeDiff } from './node-diff/compute-node-diff.ts';
import { nodeDiffText } from './node-diff/node-diff-text.ts';
import { readCurrentNode } from './node-diff/read-current-node.ts';
import { readDesiredNode } from './node-diff/read-desired-node.ts';
import { problemText } from './problem-text.ts';
import { isColoured } from './is-coloured.ts';
import { nodeNameOf } from './node-options.ts';
import { type ConfigurationFiles, readConfiguration } from './read-configuration.ts';
import { readStdin, refuseBroken } from './read-manifests.ts';

interface DiffFlags extends ConfigurationFiles {
  rootDir: string;
  containerRuntimeEndpoint?: string;
  hostnameOverride?: string;
  output: 'text' | 'json';
}

/** As `kubectl diff` has it: anything above 1 is no answer. */
const exitCodes = { changes: 1, failed: 2 };

export function registerDiff(program: Command, deps: CommandDeps): void {
  addConfigurationFlags(addRuntimeOptions(program.command('diff')), ['featureGates'])
    .description('Say what would start, stop, restart or stay if these manifests were applied, and why')
    .argument('<manifests...>', 'files or folders of manifests, all that the node is to run; - for stdin')
    .option('--hostname-override <name>', "node name, in place of the agent's or the host name")
    .addOption(new Option('-o, --output <format>', 'form of the answer').choices(['text', 'json']).default('text'))
    .addHelpText('after', help)
    .exitOverride(({ exitCode, code, message }) => {
      throw new CommanderError(exitCode === 0 ? 0 : exitCodes.failed, code, message);
    })
    .action(async (manifests: string[], flags: DiffFlags) => {
      try {
        await diff(manifests, flags, deps);
      } catch (error) {
        throw error instanceof UserError ? failed(error) : error;
      }
    });
}

async function diff(manifests: readonly string[], flags: DiffFlags, deps: CommandDeps): Promise<void> {
  const rootDir = resolve(flags.rootDir);
  const { configuration, featureGates, warnings } = await readConfiguration(flags, flagsLayer(flags));
  const snapshot = await fetchSnapshot(controlSocketPath(rootDir));
  const nodeName = nodeNameOf(flags.hostnameOverride ?? snapshot?.nodeName ?? hostname());
  const stdin = manifests.includes('-') ? await readStdin(deps.stdin) : undefined;
  const desired = await readDesiredNode({ manifests, nodeName, featureGates, stdin });
  refuseBroken(desired.problems, 'nothing can be compared');
  for (const problem of [...warnings, ...desired.problems])
    deps.stderr.write(`${problemText(problem, systemClock.now())}\n`);
  const runtimeEndpoint = flags.containerRuntimeEndpoint ?? configuration.containerRuntimeEndpoint;
  const current = await readCurrentNode({
    rootDir,
    runtimeEndpoint,
    nodeName,
    featureGates,
    snapshot,
    connect: (options) => deps.connect(options),
  });
  const result = computeNodeDiff(current, desired);
  deps.stdout.write(
    flags.output === 'json'
      ? `${JSON.stringify(result, undefined, 2)}\n`
      : nodeDiffText(result, isColoured(deps.stdout)),
  );
  if (hasChanges(result)) deps.setExitCode(exitCodes.changes);
}

function hasChanges({ pods, configObjects }: NodeDiff): boolean {
  return configObjects.length > 0 || pods.some(({ action }) => action !== 'stay');
}

function failed(error: UserError): UserError {
  const { message, hint } = error;
  return new UserError(message, { ...(hint !== undefined && { hint }), exitCode: exitCodes.failed, cause: error });
}

const help = `
The node is what its agent says, else what of ours is in the container runtime. The manifests stand for all that files
declare: a pod that is in none of them would stop, pods of a URL stay. A manifest is compared as though it took the place of
the one that declares the pod now, wherever it stands. Values of Secrets are never printed.
Exit codes: 0 no changes, 1 changes, 2 an error.

Examples:
  kubelet-ts diff pods/                 before pods/ takes the place of the manifests that run
  kubelet-ts diff -o json - < all.yaml  for a program`;
