import { hostname } from 'node:os';
import { type Command, CommanderError, Option } from 'commander';
import { systemClock } from '../clock.ts';
import { UserError } from '../errors.ts';
import { addConfigurationFlags } from '../node/options/add-configuration-flags.ts';
import { agentSnapshot } from './pod/agent-snapshot.ts';
import type { CommandDeps } from './io/deps.ts';
import { addRuntimeOptions, collect } from '../node/options/flags.ts';
import { computeNodeDiff, type NodeDiff } from '../node/diff/compute-node-diff.ts';
import { nodeDiffText } from './diff/node-diff-text.ts';
import { readCurrentNode } from '../node/diff/read-current-node.ts';
import { readKeptManifests } from '../node/diff/read-kept-manifests.ts';
import { readDesiredNode } from '../node/diff/read-desired-node.ts';
import { given, nodeNameOf, nodeOptions } from '../node/options/node-options.ts';
import { readUpdateGates } from '../node/diff/read-update-gates.ts';
import { remoteManifest } from '../node/sources/node-sources.ts';
import { problemText } from '../api/values/problem-text.ts';
import type { ConfigurationFiles } from '../node/options/read-configuration.ts';
import { namedManifests, readStdin, refuseBroken } from '../node/sources/read-manifests.ts';
import { isColoured } from './io/terminal.ts';

interface DiffFlags extends ConfigurationFiles {
  filename?: string[];
  rootDir: string;
  containerRuntimeEndpoint?: string;
  hostnameOverride?: string;
  output: 'text' | 'json';
}

/** As in `kubectl diff`: a code above 1 is a failure. */
const exitCodes = { changes: 1, failed: 2 };

export function register(program: Command, deps: CommandDeps): void {
  addConfigurationFlags(addRuntimeOptions(program.command('diff')), ['featureGates'])
    .description('Report which pods would start, stop, restart or stay with these manifests, and why')
    .argument('[manifests...]', 'all manifests of the node: files or folders, - for stdin (default: those of --config)')
    .option('-f, --filename <path>', 'file or folder of manifests, as an argument; repeatable', collect)
    .option('--hostname-override <name>', "node name, in place of the agent's or the host name")
    .addOption(new Option('-o, --output <format>', 'format of the report').choices(['text', 'json']).default('text'))
    .addHelpText('after', help)
    .exitOverride(({ exitCode, code, message }) => {
      throw new CommanderError(exitCode === 0 ? 0 : exitCodes.failed, code, message);
    })
    .action(async (manifests: string[], flags: DiffFlags) => {
      try {
        await diff([...manifests, ...(flags.filename ?? [])], flags, deps);
      } catch (error) {
        throw error instanceof UserError ? failed(error) : error;
      }
    });
}

async function diff(manifests: readonly string[], flags: DiffFlags, deps: CommandDeps): Promise<void> {
  const options = await nodeOptions(flags, []);
  const { rootDir, featureGates, runtimeClasses, warnings, containerRuntimeEndpoint } = options;
  const { paths, urls } = namedManifests(manifests, options);
  const snapshot = await agentSnapshot(rootDir, deps.stderr);
  const nodeName = nodeNameOf(given(flags.hostnameOverride) ?? snapshot?.nodeName ?? hostname());
  const stdin = paths.includes('-') ? await readStdin(deps.stdin) : undefined;
  const remote = urls.map((url) => remoteManifest({ ...options, nodeName }, url));
  const now = systemClock.now();
  const { manifests: kept, workloads } = await readKeptManifests({ rootDir, nodeName, featureGates, snapshot, now });
  const node = { nodeName, featureGates, runtimeClasses, workloads };
  const desired = await readDesiredNode({ ...node, manifests: paths, stdin, remote });
  refuseBroken(desired.problems, 'nothing can be compared');
  for (const problem of [...warnings, ...desired.problems]) deps.stderr.write(`${problemText(problem, now)}\n`);
  const { connect } = deps;
  const current = await readCurrentNode({ rootDir, containerRuntimeEndpoint, kept, snapshot, connect });
  const updateGates = await readUpdateGates(desired.pods, new Date(now));
  const result = computeNodeDiff(current, { ...desired, updateGates });
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
Compares the manifests with the pods that the agent reports or, if no agent runs, with its pods in the container runtime.
The manifests replace all manifest files of the node: a pod that they do not declare would stop. Pods of URLs stay, and
pods that the agent would keep when it starts.
Without an argument, diff reads staticPodPath and staticPodURL of --config, and compares the pods of that URL too.
Values of Secrets are never printed.

Exit codes: 0 no changes, 1 changes, 2 an error.

Examples:
  kubelet-ts diff pods/                 compares pods/ with the running pods
  kubelet-ts diff --config kubelet.yaml compares the manifests of a configuration
  kubelet-ts diff -o json - < all.yaml  reads stdin, reports as JSON`;
