import { join } from 'node:path';
import type { Command } from 'commander';
import { systemClock } from '../clock.ts';
import { rootSocketPath } from '../server/control/socket-paths.ts';
import { shellWord } from '../text/shell-word.ts';
import { visible } from '../text/visible-text.ts';
import { addConfigurationFlags, flagsLayer } from '../node/options/add-configuration-flags.ts';
import type { CommandDeps } from './io/deps.ts';
import { fetchRuntimeEndpoint } from '../server/control/control-client.ts';
import { reportWait } from './io/report-wait.ts';
import { stopAgent } from './run/stop-agent.ts';
import { outputGuard } from './run-once/github-guard.ts';
import type { OutputGuard } from './run-once/github-guard.ts';
import { guardedLog } from './run-once/guarded-log.ts';
import { lastNodePaths, type NodePaths } from '../node/last-node-paths.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { type ConfigurationFiles, readConfiguration } from '../node/options/read-configuration.ts';
import type { RunsLeft } from '../node/run-once/isolated-run.ts';
import type { ClaimsLeft, TornDownNode } from '../node/tear-down-node.ts';

interface DownFlags extends ConfigurationFiles {
  rootDir: string;
  containerRuntimeEndpoint?: string;
  all: boolean;
  volumes: boolean;
  keepDamagedStore: boolean;
}

export function register(program: Command, deps: CommandDeps): void {
  addConfigurationFlags(addRuntimeOptions(program.command('down')), ['cgroupRoot', 'podLogsDir'])
    .description('Stop kubelet-ts, and stop and remove its pods')
    .option('--all', 'stop the managed containerd too', false)
    .option('--volumes', 'delete the data of all PersistentVolumeClaims too', false)
    .option(
      '--keep-damaged-store',
      'fail if the store of the managed containerd is damaged, instead of replacing it',
      false,
    )
    .addHelpText('after', examples)
    .action(async (flags: DownFlags) => {
      const guard = outputGuard(process.env);
      const out = newPrinter(deps, guard);
      await down(flags, deps, { out, guard });
      if (!out.hasWritten) out.print(`nothing to stop: ${flags.rootDir} has no agent and no pods`);
    });
}

const examples = `
Examples:
  kubelet-ts down            stops the agent and its pods, gracefully; your manifests stay
  kubelet-ts down --all      stops the managed containerd too: nothing of kubelet-ts keeps running
  kubelet-ts down --volumes  deletes the data of PersistentVolumeClaims too, which is kept otherwise

If the agent does not answer within 2 s, down ends it with SIGTERM and SIGCONT, and with SIGKILL once it has done
nothing for 5 s. An agent that is only busy has a minute.

Without --pod-logs-dir and --cgroup-root, by a flag or --config, down uses those of the last agent of the root-dir.`;

interface Output {
  out: Printer;
  guard: OutputGuard | undefined;
}

async function down(flags: DownFlags, deps: CommandDeps, { out, guard }: Output): Promise<void> {
  const { configuration, isGiven } = await readConfiguration(flags, flagsLayer(flags));
  const { stderr } = deps;
  const socket = rootSocketPath(flags.rootDir);
  // Only the agent's configuration may name the runtime. An agent that does not answer is stopped without it.
  const runtimeOfAgent = await fetchRuntimeEndpoint(socket).catch(() => undefined);
  if (await stopAgent(socket, { clock: systemClock, stderr })) out.print('kubelet-ts stopped');
  const [{ tearDownNode }, { removeAbandonedRuns }, { createLogger }] = await Promise.all([
    import('../node/tear-down-node.ts'),
    import('../node/run-once/isolated-run.ts'),
    import('../node/log/create-logger.ts'),
  ]);
  const logger = guardedLog((await createLogger('text', 'warn')).logger, guard);
  const lastPaths = await lastNodePaths(flags.rootDir, logger);
  const pathOf = (name: keyof NodePaths): string =>
    isGiven(name) ? configuration[name] : (lastPaths?.[name] ?? configuration[name]);
  const remaining = new Set<string>();
  const node = {
    rootDir: flags.rootDir,
    runtimeRootDir: flags.rootDir,
    runtimeEndpoint: flags.containerRuntimeEndpoint ?? configuration.containerRuntimeEndpoint,
    ...(flags.containerRuntimeEndpoint === undefined && {
      runtimeNamedBy: 'containerRuntimeEndpoint in the configuration' as const,
    }),
    runtimeOfAgent,
    podLogsDir: pathOf('podLogsDir'),
    cgroupRoot: pathOf('cgroupRoot') || '/',
    deletesClaims: flags.volumes,
    keepsStore: flags.keepDamagedStore,
    logger,
    onFound: (pods: string[]): void => {
      for (const pod of pods) remaining.add(pod);
    },
    onRemoved: (pod: string): void => {
      remaining.delete(pod);
      out.print(`pod ${pod} removed`);
    },
  };
  const stopReports = reportWait(stderr, () => (remaining.size === 0 ? undefined : stoppingText([...remaining])));
  const tornDown = await tearDownNode(node).finally(stopReports);
  reportFailures(tornDown, out);
  reportClaims(tornDown.claims, flags, out);
  const runs = await removeAbandonedRuns({ ...node, containerRuntimeEndpoint: node.runtimeEndpoint }, logger);
  reportRuns(runs, flags, out);
  if (!flags.all) return;
  if (runs.live.length > 0) {
    out.fail(`the managed containerd keeps running, because run-once --isolated uses it: ${runs.live.join(', ')}`);
    out.hint('Wait until it finishes, or stop it with Ctrl-C.');
    return;
  }
  if ([...tornDown.failures, ...runs.failed].some(({ mayRun }) => mayRun)) {
    out.hint('The managed containerd keeps running, because containers of these pods may still run.');
    return;
  }
  const [{ hasManagedContainerd }, { ManagedContainerd }, { agentsOfOthers, podsOfOthers }] = await Promise.all([
    import('../containerd/managed-paths.ts'),
    import('../containerd/managed-containerd.ts'),
    import('../node/pods-of-others.ts'),
  ]);
  if (!(await hasManagedContainerd(flags.rootDir))) return;
  const others = await podsOfOthers(flags.rootDir);
  if (others.length > 0) {
    out.fail(`the managed containerd keeps running, because it runs pods of other root-dirs: ${others.join(', ')}`);
    out.hint('Remove them first: kubelet-ts down --root-dir THEIR_ROOT_DIR');
    return;
  }
  const agents = await agentsOfOthers(flags.rootDir);
  if (agents.length > 0) {
    out.fail(`the managed containerd keeps running, because agents of other root-dirs use it: ${agents.join(', ')}`);
    out.hint(
      `Stop them first: ${agents.map((folder) => `kubelet-ts down --root-dir ${shellWord(folder)}`).join(' && ')}`,
    );
    return;
  }
  const didRun = await new ManagedContainerd({ rootDir: flags.rootDir, clock: systemClock, logger }).stop();
  if (didRun) out.print('managed containerd stopped');
}

const stoppingText = (pods: readonly string[]): string =>
  `waiting for ${pods.join(', ')} to stop, at most for the terminationGracePeriodSeconds of each pod`;

/** Prints lines without terminal escapes or CI commands, because some messages come from runtimes. */
interface Printer {
  /** True once it has printed a text. */
  readonly hasWritten: boolean;
  print: (text: string) => void;
  /** Prints an error, and sets the exit code. */
  fail: (text: string) => void;
  hint: (text: string) => void;
}

function newPrinter(deps: CommandDeps, guard: OutputGuard | undefined): Printer {
  const { stdout, stderr } = deps;
  let hasWritten = false;
  const line = (text: string): string => {
    hasWritten = true;
    return `${guard?.text(visible(text)) ?? visible(text)}\n`;
  };
  return {
    get hasWritten() {
      return hasWritten;
    },
    print: (text) => void stdout.write(line(text)),
    fail: (text) => {
      stderr.write(line(`error: ${text}`));
      deps.setExitCode(1);
    },
    hint: (text) => void stderr.write(line(`hint: ${text}`)),
  };
}

function reportClaims({ names, areDeleted, reason }: ClaimsLeft, { rootDir, volumes }: DownFlags, out: Printer): void {
  for (const name of names) out.print(`claim ${name} ${areDeleted ? 'deleted' : 'keeps its data'}`);
  if (reason !== undefined) out.fail(`the data of the claims could not be deleted: ${reason}`);
  if (!volumes && names.length > 0 && !areDeleted)
    out.hint(`The data is in ${join(rootDir, 'volumes')}; delete it: kubelet-ts down --volumes`);
}

/** Prints each pod that could not be removed, and sets the exit code. */
function reportFailures({ failures, keptManifests, stillMounted }: TornDownNode, out: Printer): void {
  if (keptManifests !== undefined) {
    out.fail(`${keptManifests.folder} could not be emptied: ${keptManifests.reason}`);
    out.hint('Remove it, or the next run starts its pods if the manifests are unavailable.');
  }
  for (const { pod, reason } of failures) out.fail(`pod ${pod} could not be removed: ${reason}`);
  if (failures.length > 0) out.hint('The next run or down tries again.');
  if (stillMounted !== undefined) out.fail(`volumes of CSI drivers are still mounted: ${stillMounted}`);
}

/** Prints each isolated run. One that could not be removed sets the exit code. */
function reportRuns({ removed, live, failed }: RunsLeft, { all }: DownFlags, out: Printer): void {
  for (const name of removed) out.print(`isolated run ${name} removed`);
  // With --all it is an error.
  if (!all) for (const name of live) out.print(`isolated run ${name} keeps running`);
  for (const { name, reason } of failed) out.fail(`the isolated run ${name} could not be removed: ${reason}`);
  if (failed.length > 0) out.hint('The next run-once --isolated or down tries again.');
}
