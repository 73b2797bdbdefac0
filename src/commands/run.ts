import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { type Command, Option } from 'commander';
import { systemClock } from '../clock.ts';
import { appliedFolder } from '../engine/applied/applied-folder.ts';
import { AppliedManifests } from '../engine/applied/applied-manifests.ts';
import type { PodSource } from '../engine/config/pod-source.ts';
import type { Kubelet } from '../engine/kubelet.ts';
import { UserError } from '../errors.ts';
import { Faults } from '../flow/faults.ts';
import type { Logger } from '../logger.ts';
import { requireRoot } from '../process/needs-root.ts';
import { ownProgram } from '../process/own-program.ts';
import { openAPI } from '../node/open-api.ts';
import { AgentEnd, endOfPodsMs, stopsItsPods } from '../node/agent-end.ts';
import { AgentHealth } from '../node/agent-health.ts';
import { addShortHelp } from './io/short-help.ts';
import { canShowScreen } from './run/can-show-screen.ts';
import { refuseKubeletArguments } from './run/refuse-kubelet-arguments.ts';
import type { Theme } from './run/theme-option.ts';
import { addOwnOptionsOfRun } from './flags-of-run.ts';
import type { CommandDeps } from './io/deps.ts';
import { boolean, referenceVersion } from '../node/options/flags.ts';
import type { OnStarting } from '../node/import-images.ts';
import { logEvents } from '../node/log/log-events.ts';
import { setKernelTunables } from '../node/kernel-tunables.ts';
import { warnOfCgroupV1 } from '../node/node-fitness.ts';
import { addNodeOptions } from '../node/options/node-flags.ts';
import { createNodeLogger, type LogFlags } from '../node/log/node-logger.ts';
import { type NodeFlags, nodeOptions, type NodeOptions } from '../node/options/node-options.ts';
import { newPathGuard } from '../node/options/read-configuration.ts';
import { Reload } from '../node/reload.ts';
import { ServiceManager } from '../node/service-manager.ts';
import { UpgradeTrial } from '../node/upgrade/upgrade-trial.ts';
import { nodeSources } from '../node/sources/node-sources.ts';
import { claimScreenAgent } from './run/screen-agent.ts';
import { stoppedByDownCode } from './service/systemd-unit.ts';
import type { StatusURLs } from '../node/status-urls/status-urls.ts';
import { extendStart, notifyWatchdog } from '../node/watchdog.ts';
import { ShutdownRequest, withAgent } from '../node/with-agent.ts';

interface RunFlags extends NodeFlags, LogFlags {
  tui: boolean;
  theme: Theme;
  version?: boolean;
}

export function register(program: Command, deps: CommandDeps): void {
  const command = addOwnOptionsOfRun(addNodeOptions(program.command('run')));
  addShortHelp(command, commonFlags)
    .description('Run the pods of manifests until stopped. The pods keep running after that')
    .argument('[manifests...]', 'files or folders of pod manifests, in addition to --pod-manifest-path')
    // A flag of the kubelet that kubeadm uses.
    .addOption(new Option('--version [boolean]').argParser(boolean).hideHelp())
    .addHelpText('after', examples)
    .action(async (manifests: string[], flags: RunFlags) => {
      refuseKubeletArguments(manifests, process.argv);
      if (flags.version === true) deps.stdout.write(`Kubernetes ${referenceVersion}\n`);
      else deps.setExitCode(await run(manifests, flags, deps));
    });
}

/** Flags of most nodes, by group. */
const commonFlags = {
  'Manifests:': ['--pod-manifest-path', '--manifest-url', '--prune'],
  'Node:': ['--config', '--hostname-override', '--node-ip', '--node-labels', '--max-pods', '--in-place'],
  'State and runtime:': ['--root-dir', '--container-runtime-endpoint'],
  'Screen and log:': ['--no-tui', '--log-format', '--log-level'],
};

const examples = `
Examples:
  kubelet-ts run /etc/kubernetes/manifests          runs the pods of a folder
  kubelet-ts run pod.yaml --no-tui                  runs one pod, with log lines
  kubelet-ts run --manifest-url https://box.example/pod.yaml
Then, in another terminal: kubelet-ts ps, kubelet-ts logs POD, kubelet-ts exec POD -- CMD`;

async function run(manifests: readonly string[], flags: RunFlags, { stderr }: CommandDeps): Promise<number> {
  const options = await nodeOptions(flags, manifests);
  const isNamed = options.manifestPaths.length + options.manifestURLs.length > 0;
  if (!isNamed && !existsSync(appliedFolder(options.rootDir))) {
    throw new UserError('nothing to run: no manifest was named or applied', {
      hint: 'Name a manifest file or folder, --manifest-url URL, or a --config with staticPodPath; or use kubelet-ts apply.',
    });
  }
  requireRoot();
  if (flags.tui && (await canShowScreen())) {
    const { runWithScreen } = await import('./run/run-with-screen.ts');
    const { rootDir, nodeName, containerRuntimeEndpoint: runtimeEndpoint } = options;
    return runWithScreen({ rootDir, nodeName, runtimeEndpoint, theme: flags.theme, stderr });
  }
  return runAgent(options, flags, manifests);
}

async function runAgent(options: NodeOptions, flags: RunFlags, manifests: readonly string[]): Promise<number> {
  const screen = claimScreenAgent(process.env);
  const { logger, setVerbosity } = await createNodeLogger(options, flags, 'info', screen?.logFile);
  const { secrets } = options;
  const service = new ServiceManager(process.env, { clock: systemClock, logger, pid: process.pid, secrets });
  const stopping = new AbortController();
  const stop = (reason: string): void => {
    stopping.abort(new Error(reason));
  };
  const stopped = once(stopping.signal, 'abort').then(() => service.stopping('Stopping, pods keep running'));
  // Stops with the agent.
  extendStart(service, systemClock, stopping.signal).catch(() => undefined);
  const ending = new AgentEnd({ logger, stop });
  const onSignal = (signal: NodeJS.Signals): void => {
    // The next signal stops the process at once. The handlers are removed later, because execa stops the process if no
    // listener is left.
    if (ending.signalled(signal)) setImmediate(() => process.off('SIGTERM', onSignal).off('SIGINT', onSignal));
    else void service.stopping('Stopping after the pods', endOfPodsMs(options) + stopMarginMs);
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  const guard = newPathGuard();
  const read = (): Promise<NodeOptions> => nodeOptions(flags, manifests, guard);
  // A log level on the command line takes precedence over the reloaded one.
  const setLevel = flags.logLevel === undefined ? setVerbosity : (): void => undefined;
  const reload = new Reload({ options, read, setVerbosity: setLevel, service, logger });
  // A closed terminal sends SIGHUP too. The agent does not stop for it.
  process.on('SIGHUP', () => void reload.request());
  const faults = new Faults({ clock: systemClock, logger });
  const sources = (): PodSource[] => nodeSources(options, logger, { hasApplied: true });
  const { rootDir, nodeName, featureGates } = options;
  const applied = new AppliedManifests({ rootDir, nodeName, featureGates, clock: systemClock, logger });
  const health = new AgentHealth({ options, faults });
  const onWaiting = async ({ message, hint = '' }: UserError): Promise<void> => {
    health.because(() => `waiting for the runtime: ${message}`);
    await health.open();
    logger.warn({ err: message, hint }, 'Waiting for the container runtime');
    void service.status(`Waiting for the container runtime: ${message}`);
  };
  const onStarting: OnStarting = async (doing) => {
    health.because(() => `starting: ${doing() ?? 'the runtime is ready'}`);
    await health.open();
  };
  const openingUpgrade = UpgradeTrial.open(ownProgram(), { clock: systemClock, logger });
  let statusURLs: StatusURLs | undefined;
  try {
    const onServing = screen?.reportReady;
    const agent = {
      ...{ options, sources, applied, logger, faults, stopping, onWaiting, onStarting, onServing },
      statusURLs: () => statusURLs?.snapshot() ?? [],
    };
    await withAgent(agent, async (kubelet, runtime, metrics) => {
      if (!options.protectKernelDefaults) await setKernelTunables(logger);
      await warnOfCgroupV1(kubelet);
      health.because(() => kubelet.unhealthyBecause());
      await health.open();
      const api = await openAPI(options, {
        engine: kubelet,
        runtime,
        metrics,
        clock: systemClock,
        faults,
        logger,
        setVerbosity,
      });
      try {
        reload.addAPI(api.prepareReload);
        if (stopsItsPods(options)) ending.podsOf(kubelet);
        statusURLs = await openStatus(options, logger);
        const posting = faults.keepRunning(
          'status URLs',
          async () => statusURLs?.run(kubelet, stopping.signal),
          stopping.signal,
        );
        const upgrade = await openingUpgrade;
        const ended = kubelet.run(stopping.signal);
        void service.ready('Running');
        upgrade.run(kubelet, stopping.signal).catch(() => undefined);
        const watchdog = { service, stuckBecause: () => kubelet.stuckBecause(), clock: systemClock, logger };
        // Stops with the agent.
        notifyWatchdog(watchdog, stopping.signal).catch(() => undefined);
        await withLog(kubelet, ended, logger);
        await posting;
      } finally {
        api.close();
      }
    });
  } catch (error) {
    // A stop during startup is not a failure.
    if (!stopping.signal.aborted) throw error;
  } finally {
    if (stopping.signal.aborted) await stopped;
    await health.close();
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
  }
  return service.isThere && stopping.signal.reason instanceof ShutdownRequest ? stoppedByDownCode : 0;
}

/** Loaded on demand, because most nodes have no status URL. */
async function openStatus(options: NodeOptions, logger: Logger): Promise<StatusURLs | undefined> {
  if (options.statusURLs.length === 0) return undefined;
  const { openStatusURLs } = await import('../node/status-urls/open-status-urls.ts');
  return openStatusURLs(options, logger);
}

/** Maximum time to stop apart from the pods, in milliseconds. */
const stopMarginMs = 30_000;

async function withLog(kubelet: Kubelet, ended: Promise<void>, logger: Logger): Promise<void> {
  const unsubscribe = logEvents(kubelet, logger);
  try {
    await ended;
  } finally {
    unsubscribe();
  }
}
