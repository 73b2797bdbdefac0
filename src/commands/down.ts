import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../clock.ts';
import { rootSocketPath } from '../server/control/socket-paths.ts';
import { visible } from '../visible-text.ts';
import { addConfigurationFlags, flagsLayer } from '../node/options/add-configuration-flags.ts';
import type { CommandDeps } from './io/deps.ts';
import { endAgent } from './run/end-agent.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { type ConfigurationFiles, readConfiguration } from '../node/options/read-configuration.ts';
import type { UnremovedRun } from '../node/run-once/isolated-run.ts';
import type { ClaimsLeft, TornDownNode } from '../node/tear-down-node.ts';

interface DownFlags extends ConfigurationFiles {
  rootDir: string;
  containerRuntimeEndpoint?: string;
  all: boolean;
  volumes: boolean;
}

export function register(program: Command, deps: CommandDeps): void {
  addConfigurationFlags(addRuntimeOptions(program.command('down')), ['cgroupRoot', 'podLogsDir'])
    .description('Stop kubelet-ts, and stop and remove its pods')
    .option('--all', 'stop the managed containerd too', false)
    .option('--volumes', 'delete the data of all PersistentVolumeClaims too', false)
    .addHelpText('after', examples)
    .action(async (flags: DownFlags) => {
      await down({ ...flags, rootDir: resolve(flags.rootDir) }, deps);
    });
}

const examples = `
Examples:
  kubelet-ts down            stops the agent and its pods, gracefully; your manifests stay
  kubelet-ts down --all      stops the managed containerd too: nothing of kubelet-ts keeps running
  kubelet-ts down --volumes  deletes the data of PersistentVolumeClaims too, which stay otherwise

If the agent does not answer within 2 s, down ends it with SIGTERM and SIGCONT, and with SIGKILL 5 s later.

Give down the same --config, --config-dir, --pod-logs-dir and --cgroup-root as run.`;

async function down(flags: DownFlags, deps: CommandDeps): Promise<void> {
  const { configuration } = await readConfiguration(flags, flagsLayer(flags));
  const { stderr } = deps;
  if (await endAgent(rootSocketPath(flags.rootDir), { clock: systemClock, stderr })) {
    deps.stdout.write('kubelet-ts stopped\n');
  }
  const [{ tearDownNode }, { removeAbandonedRuns }, { createLogger }] = await Promise.all([
    import('../node/tear-down-node.ts'),
    import('../node/run-once/isolated-run.ts'),
    import('../node/log/create-logger.ts'),
  ]);
  const { logger } = await createLogger('text', 'warn');
  const node = {
    rootDir: flags.rootDir,
    runtimeRootDir: flags.rootDir,
    runtimeEndpoint: flags.containerRuntimeEndpoint ?? configuration.containerRuntimeEndpoint,
    podLogsDir: configuration.podLogsDir,
    cgroupRoot: configuration.cgroupRoot || '/',
    deletesClaims: flags.volumes,
    onRemoved: (pod: string): void => void deps.stdout.write(`pod ${visible(pod)} removed\n`),
  };
  const tornDown = await tearDownNode(node);
  reportFailures(tornDown, deps);
  reportClaims(tornDown.claims, flags, deps);
  const runs = await removeAbandonedRuns({ ...node, containerRuntimeEndpoint: node.runtimeEndpoint }, logger);
  reportRuns(runs.failed, deps);
  if (!flags.all) return;
  if (runs.live.length > 0) {
    deps.stderr.write(
      `error: the managed containerd keeps running, because run-once --isolated uses it: ${runs.live.join(', ')}\n`,
    );
    deps.stderr.write('hint: Wait for its end, or end it by Ctrl-C.\n');
    deps.setExitCode(1);
    return;
  }
  if ([...tornDown.failures, ...runs.failed].some(({ mayRun }) => mayRun)) {
    deps.stderr.write('hint: The managed containerd keeps running, because containers of these pods may still run.\n');
    return;
  }
  const [{ hasManagedContainerd }, { ManagedContainerd }] = await Promise.all([
    import('../containerd/managed-paths.ts'),
    import('../containerd/managed-containerd.ts'),
  ]);
  if (!(await hasManagedContainerd(flags.rootDir))) return;
  await new ManagedContainerd({ rootDir: flags.rootDir, clock: systemClock, logger }).stop();
  deps.stdout.write('managed containerd stopped\n');
}

function reportClaims(
  { names, areDeleted, reason }: ClaimsLeft,
  { rootDir, volumes }: DownFlags,
  deps: CommandDeps,
): void {
  for (const name of names) {
    deps.stdout.write(visible(`claim ${name} ${areDeleted ? 'deleted' : 'keeps its data'}`) + '\n');
  }
  if (reason !== undefined)
    deps.stderr.write(`${visible(`error: the data of the claims could not be deleted: ${reason}`)}\n`);
  if (volumes && !areDeleted) deps.setExitCode(1);
  else if (names.length > 0 && !areDeleted) {
    deps.stderr.write(`hint: The data are in ${join(rootDir, 'volumes')}; down --volumes deletes them.\n`);
  }
}

/** Prints each pod that could not be removed, and sets the exit code. */
function reportFailures({ failures, unforgotten, stillMounted }: TornDownNode, deps: CommandDeps): void {
  if (unforgotten !== undefined) {
    deps.stderr.write(`${visible(`error: ${unforgotten.folder} could not be emptied: ${unforgotten.reason}`)}\n`);
    deps.stderr.write('hint: Remove it, or the next run starts what it holds while the manifests are away.\n');
  }
  for (const { pod, reason } of failures)
    deps.stderr.write(`${visible(`error: pod ${pod} could not be removed: ${reason}`)}\n`);
  if (failures.length > 0) deps.stderr.write('hint: The next run tries it again, and so does the next down.\n');
  if (stillMounted !== undefined)
    deps.stderr.write(`${visible(`error: volumes of CSI drivers are still mounted: ${stillMounted}`)}\n`);
  if (failures.length > 0 || unforgotten !== undefined || stillMounted !== undefined) deps.setExitCode(1);
}

/** Prints each isolated run that could not be removed, and sets the exit code. */
function reportRuns(failed: readonly UnremovedRun[], deps: CommandDeps): void {
  for (const { name, reason } of failed)
    deps.stderr.write(`${visible(`error: the isolated run ${name} could not be removed: ${reason}`)}\n`);
  if (failed.length === 0) return;
  deps.stderr.write('hint: The next run-once --isolated tries it again, and so does the next down.\n');
  deps.setExitCode(1);
}
