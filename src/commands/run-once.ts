import { randomUUID } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseImageName } from '../api/values/image-name.ts';
import { systemClock } from '../clock.ts';
import { writeFailure } from '../files/file-failure.ts';
import { UserError } from '../errors.ts';
import { visible } from '../text/visible-text.ts';
import { addShortHelp } from './io/short-help.ts';
import type { CommandDeps } from './io/deps.ts';
import { jsonText } from './io/json-text.ts';
import { collect, duration } from '../node/options/flags.ts';
import { addLogOptions, addNodeOptions } from '../node/options/node-flags.ts';
import { interruptSignal } from '../node/run-once/interrupt-signal.ts';
import type { ImageOverride } from '../node/run-once/pod-overrides.ts';
import type { RunOnceResult } from '../node/run-once/run-once-node.ts';
import { untilWords } from '../node/run-once/run-once-outcome.ts';
import { isColoured } from './io/terminal.ts';
import { ciLog } from './run-once/ci-log.ts';
import type { JunitReport } from './run-once/junit-report.ts';
import { runManifests, type RunOnceFlags } from './run-once/run-manifests.ts';
import { resultText, summaryMarkdown } from './run-once/result-text.ts';

const defaultTimeoutMs = 600_000;

export function register(program: Command, deps: CommandDeps): void {
  addShortHelp(addLogOptions(addNodeOptions(program.command('run-once')), 'warn'), commonFlags)
    .description('Run pods until each has completed or is Ready, and exit with their result')
    .argument(
      '[manifests...]',
      'files or folders of pod manifests, or kustomizations, - for stdin; or cronjob/NAME for a declared CronJob',
    )
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
      const { namesCronJob, refuseOtherWorkloads } = await import('./run-once/run-cron-job.ts');
      refuseOtherWorkloads(manifests);
      const cronJob = manifests.find(namesCronJob);
      if (cronJob !== undefined) refuseWithCronJob(manifests, flags);
      await runOnceWithReport({ cronJob, manifests: [...manifests, ...(flags.filename ?? [])], flags }, deps);
    });
}

/** The agent runs a CronJob as its manifest says. */
function refuseWithCronJob(manifests: readonly string[], flags: RunOnceFlags): void {
  const { filename, env, envFile, set, exitCodeFrom, isolated, rm } = flags;
  if (manifests.length > 1 || filename !== undefined) throw new UserError('name one CronJob, or manifests');
  const given = { env, 'env-file': envFile, set, 'exit-code-from': exitCodeFrom, isolated, rm };
  const [flag] = Object.entries(given).find(([, value]) => value !== undefined && value !== false) ?? [];
  if (flag === undefined) return;
  throw new UserError(`--${flag} has no effect on a declared CronJob`, {
    hint: 'Leave it out, or name the file of the CronJob.',
  });
}

/** Flags of most runs, by group. */
const commonFlags = {
  'End of the run:': ['--until', '--exit-code-from', '--timeout', '--rm', '--isolated', '--keep'],
  'Manifests:': ['--strict', '--env', '--env-file', '--set'],
  'Reports:': ['--output', '--junit', '--log-format', '--log-level'],
  'Images, state and runtime:': ['--offline', '--root-dir', '--container-runtime-endpoint'],
};

interface RequestedRun {
  /** Undefined to run the manifests. */
  cronJob: string | undefined;
  manifests: readonly string[];
  flags: RunOnceFlags;
}

async function runOnceWithReport(requested: RequestedRun, deps: CommandDeps): Promise<void> {
  const interrupted = interruptSignal();
  const { junit: path } = requested.flags;
  if (path === undefined) {
    await runAndReport({ ...requested, interrupted }, deps);
    return;
  }
  const { openJunitReport } = await import('./run-once/junit-report.ts');
  const junit = await openJunitReport(path, systemClock.now());
  try {
    await runAndReport({ ...requested, interrupted, junit }, deps);
  } catch (error) {
    // The first error matters more than an error of the report.
    await junit.fail(error, systemClock.now()).catch(() => undefined);
    throw error;
  }
}

interface ReportedRun extends RequestedRun {
  interrupted: AbortSignal;
  junit?: JunitReport;
}

async function runAndReport(
  { cronJob, manifests, flags, interrupted, junit }: ReportedRun,
  deps: CommandDeps,
): Promise<void> {
  const { env } = process;
  const ci = ciLog({ env, token: randomUUID(), now: () => systemClock.now() });
  const { guard } = ci ?? {};
  const write = (text: string): void => void deps.stderr.write(guard?.text(text) ?? text);
  const request = {
    timeoutMs: flags.timeout ?? defaultTimeoutMs,
    interrupted,
    allLogs: junit !== undefined,
    stdout: flags.output === 'json' ? deps.stderr : deps.stdout,
    stderr: deps.stderr,
    isColoured: isColoured({ isTTY: deps.stdout.isTTY === true || ci !== undefined }),
    guard: guard?.line,
  };
  const inGroup = <T>(work: () => Promise<T>): Promise<T> => {
    deps.stderr.write(ci?.begin('Output of the pods') ?? '');
    return work().finally(() => deps.stderr.write(ci?.end() ?? ''));
  };
  const run =
    cronJob === undefined
      ? await runManifests(manifests, flags, { ...request, ci: guard, inGroup }, deps)
      : await inGroup(async () => {
          const { runCronJob } = await import('./run-once/run-cron-job.ts');
          const { rootDir, containerRuntimeEndpoint } = flags;
          return runCronJob(cronJob, { ...request, rootDir, containerRuntimeEndpoint }, deps);
        });
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

const help = `
With --until auto, a pod is done when it has completed (restartPolicy Never or OnFailure) or is Ready (Always).
A CronJob runs once, immediately. Every run starts clean.
With cronjob/NAME, the running agent runs the declared CronJob now; the command shows the output and waits for the result.
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
  kubelet-ts run-once cronjob/dump          runs a declared CronJob now, in addition to its schedule
  kubelet-ts run-once -o json ci/           runs a folder of pods and prints the result as JSON
  kubelet-ts run-once --rm --exit-code-from test --junit report.xml ci/
                                            stops when the pod test exits, and reports to the CI service`;
