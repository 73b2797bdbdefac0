import { randomUUID } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { podKey } from '../api/values/pod-names.ts';
import { parseImageName } from '../api/values/image-name.ts';
import { systemClock } from '../clock.ts';
import { writeFailure } from '../files/file-failure.ts';
import type { Logger } from '../logger.ts';
import { requireRoot } from '../process/needs-root.ts';
import { visible } from '../text/visible-text.ts';
import { addShortHelp } from './io/short-help.ts';
import type { CommandDeps } from './io/deps.ts';
import { jsonText } from './io/json-text.ts';
import { collect, duration } from '../node/options/flags.ts';
import { logEvents } from '../node/log/log-events.ts';
import { addLogOptions, addNodeOptions } from '../node/options/node-flags.ts';
import { createNodeLogger, type LogFlags } from '../node/log/node-logger.ts';
import { type NodeFlags, nodeOptions, type NodeOptions } from '../node/options/node-options.ts';
import { eachFailureOnce } from '../node/log/repeated-failures.ts';
import { givenVariables } from '../node/run-once/environment-file.ts';
import { interruptSignal } from '../node/run-once/interrupt-signal.ts';
import type { IsolatedRun } from '../node/run-once/isolated-run.ts';
import type { ImageOverride } from '../node/run-once/pod-overrides.ts';
import { runOnce, type RunOnceResult } from '../node/run-once/run-once-node.ts';
import { type Until, untilWords } from '../node/run-once/run-once-outcome.ts';
import { isColoured } from './io/terminal.ts';
import { ciLog } from './run-once/ci-log.ts';
import { resolveDecider } from './run-once/resolve-decider.ts';
import { guardedLog } from './run-once/guarded-log.ts';
import type { JunitReport } from './run-once/junit-report.ts';
import { resultText, summaryMarkdown } from './run-once/result-text.ts';

interface RunOnceFlags extends NodeFlags, LogFlags {
  filename?: string[];
  until: Until;
  exitCodeFrom?: string;
  timeout?: number;
  strict: boolean;
  rm: boolean;
  isolated: boolean;
  env?: string[];
  envFile?: string[];
  set?: ImageOverride[];
  output?: 'json';
  junit?: string;
}

const defaultTimeoutMs = 600_000;

export function register(program: Command, deps: CommandDeps): void {
  addShortHelp(addLogOptions(addNodeOptions(program.command('run-once')), 'warn'), commonFlags)
    .description('Run pods until each has completed or is Ready, and exit with their result')
    .argument('[manifests...]', 'files or folders of pod manifests, or kustomizations, - for stdin')
    .option('-f, --filename <path>', 'file or folder of manifests, as an argument; repeatable', collect)
    .addOption(
      new Option('--until <state>', 'when a pod is done: completed, Ready, or auto by its restart policy')
        .choices(untilWords)
        .default('auto'),
    )
    .option('--exit-code-from <pod/container>', 'stop when this one exits, and exit with its exit code')
    .option('--timeout <duration>', 'give up after this long (default: 10m)', duration)
    .option('--rm', 'stop and remove the pods at the end', false)
    .option('--isolated', 'use a separate root-dir and names, for parallel runs; implies --rm', false)
    .addOption(
      new Option('--keep', 'keep the pods (default without --rm and --isolated)').conflicts(['rm', 'isolated']),
    )
    .option('-e, --env <name=value>', 'set a variable in every container (repeatable)', collect)
    .option('--env-file <file>', 'set the variables of a file in every container (repeatable)', collect)
    .option(
      '--set <container.image=image>',
      'run another image; image=IMAGE for the only container (repeatable)',
      imageOverride,
    )
    .option('--strict', 'treat warnings about manifests, such as a misspelt field, as errors', false)
    .addOption(new Option('-o, --output <format>', 'print the result as one object').choices(['json']))
    .option('--junit <file>', 'write the result as JUnit XML, with one test case per container')
    .addHelpText('after', help)
    .action(async (manifests: string[], flags: RunOnceFlags) => {
      await runOnceWithReport([...manifests, ...(flags.filename ?? [])], flags, deps);
    });
}

/** Flags of most runs, by group. */
const commonFlags = {
  'End of the run:': ['--until', '--exit-code-from', '--timeout', '--rm', '--isolated', '--keep'],
  'Manifests:': ['--strict', '--env', '--env-file', '--set'],
  'Reports:': ['--output', '--junit', '--log-format', '--log-level'],
  'Images, state and runtime:': ['--offline', '--root-dir', '--container-runtime-endpoint'],
};

async function runOnceWithReport(manifests: readonly string[], flags: RunOnceFlags, deps: CommandDeps): Promise<void> {
  const interrupted = interruptSignal();
  if (flags.junit === undefined) {
    await runAndReport({ manifests, flags, interrupted }, deps);
    return;
  }
  const { openJunitReport } = await import('./run-once/junit-report.ts');
  const junit = await openJunitReport(flags.junit, systemClock.now());
  try {
    await runAndReport({ manifests, flags, interrupted, junit }, deps);
  } catch (error) {
    // The first error matters more than an error of the report.
    await junit.fail(error, systemClock.now()).catch(() => undefined);
    throw error;
  }
}

interface ReportedRun {
  manifests: readonly string[];
  flags: RunOnceFlags;
  interrupted: AbortSignal;
  junit?: JunitReport;
}

async function runAndReport({ manifests, flags, interrupted, junit }: ReportedRun, deps: CommandDeps): Promise<void> {
  const node = await nodeOptions(flags, []);
  const { logger: nodeLogger } = await createNodeLogger(node, flags, 'warn');
  const { env } = process;
  const ci = ciLog({ env, token: randomUUID(), now: () => systemClock.now() });
  const { guard } = ci ?? {};
  const write = (text: string): void => void deps.stderr.write(guard?.text(text) ?? text);
  const logger = eachFailureOnce(withoutFailedSyncs(guardedLog(nodeLogger, guard)));
  const { exitCodeFrom } = flags;
  const isolated = flags.isolated ? await openIsolatedRun(node, logger, interrupted) : undefined;
  const options = isolated?.options ?? node;
  deps.stderr.write(ci?.begin('Output of the pods') ?? '');
  const runPods = runOnce({
    options,
    manifests: [...manifests, ...(flags.podManifestPath ?? [])],
    overrides: async (signal) => ({ env: await givenVariables(flags, env, signal), images: flags.set ?? [] }),
    isStrict: flags.strict,
    until: flags.until,
    decider: exitCodeFrom === undefined ? undefined : (pods) => resolveDecider(exitCodeFrom, pods, options.nodeName),
    timeoutMs: flags.timeout ?? defaultTimeoutMs,
    interrupted,
    remove: flags.rm || flags.isolated,
    allLogs: junit !== undefined,
    stdin: deps.stdin,
    stdout: flags.output === 'json' ? deps.stderr : deps.stdout,
    stderr: deps.stderr,
    isColoured: isColoured({ isTTY: deps.stdout.isTTY === true || ci !== undefined }),
    guard: guard?.line,
    logger,
    onKubelet: (kubelet) => {
      logEvents(kubelet, logger);
    },
    onStop: ({ pods, seconds }) => {
      const names = pods.map(({ metadata }) => podKey(metadata));
      // With -o json, stdout has only the JSON.
      if (flags.output !== 'json') deps.stderr.write(`Stopping ${visible(names.join(', '))} (up to ${seconds} s)…\n`);
    },
  });
  const run = await runPods
    .finally(() => deps.stderr.write(ci?.end() ?? ''))
    .catch(async (error: unknown) => {
      await isolated?.close({ isEmpty: true });
      throw error;
    });
  await isolated?.close({ isEmpty: run.unremoved.length === 0 });
  const { results, exitCode } = run;
  if (flags.output === 'json') {
    const json = jsonText({ exitCode, pods: results }, 2);
    deps.stdout.write(guard?.json(json) ?? json);
  } else write(await resultText(results, run.isLogPrefixed));
  for (const { pod, outcome, message } of results.filter((result) => result.exitCode !== 0))
    deps.stderr.write(ci?.failure(pod, message === '' ? outcome : message) ?? '');
  write(unremovedText(run, flags));
  deps.setExitCode(exitCode);
  const summary = ci === undefined ? '' : (env['GITHUB_STEP_SUMMARY'] ?? '');
  const areWritten = await Promise.all([
    writeReport(flags.junit ?? '', () => junit?.write(results, systemClock.now()), deps),
    writeReport(summary, () => (summary === '' ? undefined : appendFile(summary, summaryMarkdown(results))), deps),
  ]);
  if (exitCode === 0 && areWritten.includes(false)) deps.setExitCode(1);
}

/**
 * Writes a report. Returns false and prints an error if that fails; the results are still shown, and a failed run keeps
 * its exit code.
 */
async function writeReport(path: string, write: () => Promise<void> | undefined, deps: CommandDeps): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    deps.stderr.write(`error: ${visible(path)}: ${writeFailure(path, error)}\n`);
    return false;
  }
}

/** Loaded on demand, because most runs share the root-dir of the node. */
async function openIsolatedRun(node: NodeOptions, logger: Logger, signal: AbortSignal): Promise<IsolatedRun> {
  const isolated = await import('../node/run-once/isolated-run.ts');
  requireRoot();
  return isolated.openIsolatedRun(node, logger, signal);
}

function unremovedText({ unremoved }: RunOnceResult, flags: RunOnceFlags): string {
  if (unremoved.length === 0) return '';
  const errors = unremoved.map(({ pod, reason }) => visible(`error: pod ${pod} could not be removed: ${reason}`));
  const remover = flags.isolated ? 'the next run-once --isolated' : 'kubelet-ts down';
  return [...errors, `hint: ${remover} removes the rest.`, ''].join('\n');
}

function imageOverride(text: string, before: ImageOverride[] = []): ImageOverride[] {
  const [, container, image] = /^(?:([^.=]+)\.)?image=(.+)$/.exec(text) ?? [];
  if (image === undefined) throw new InvalidArgumentError('Write image=IMAGE or CONTAINER.image=IMAGE.');
  if (parseImageName(image) === undefined) throw new InvalidArgumentError(`"${image}" is not the name of an image.`);
  return [...before, { container, image }];
}

/** Drops logs of failed syncs, because each is also an event of its pod. */
function withoutFailedSyncs(logger: Logger): Logger {
  return {
    debug: logger.debug.bind(logger),
    info: logger.info.bind(logger),
    warn: logger.warn.bind(logger),
    error: logger.error.bind(logger),
    child: (bindings) => {
      const child = logger.child(bindings);
      return bindings['component'] === 'pod-workers' ? { ...child, warn: child.debug.bind(child) } : child;
    },
  };
}

const help = `
With --until auto, a pod is done when it has completed (restartPolicy Never or OnFailure) or is Ready (Always).
A CronJob runs once, immediately. Every run starts clean.
The output of containers goes to stdout and stderr, the results go to stderr.

Exit codes:
  0    all pods completed or are Ready
  N    the exit code of the failed pod that comes first in the manifests; 127: command not found, 126: command cannot be executed
  1    an invalid flag, no root, no runtime, or an agent on this root-dir; see stderr
  1    the pods succeeded, but a pod could not be removed or a report was not written
  2    a manifest is broken, or has a warning and --strict is set; nothing was started
  124  the timeout passed
  125  a pod could not be started
  130  interrupted

Examples:
  kubelet-ts run-once job.yaml              exits with the result of the job
  kubelet-ts run-once --rm - < pod.yaml     reads stdin, leaves nothing behind
  kubelet-ts run-once overlays/ci           builds a kustomization and runs its pods
  kubelet-ts run-once -o json ci/           runs a folder of pods and prints the result as JSON
  kubelet-ts run-once --rm --exit-code-from test --junit report.xml ci/
                                            stops when the pod test exits, and reports to the CI service`;
