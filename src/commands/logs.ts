import { type Command, InvalidArgumentError } from 'commander';
import { podKey } from '../api/values/pod-names.ts';
import { isRfc3339Time, parseRfc3339Ms } from '../api/values/time.ts';
import type { Container } from '../cri/types.ts';
import { nanosecondsOf } from '../engine/logs/log-formatter.ts';
import type { ReadLogsOptions } from '../engine/logs/read-logs.ts';
import { hasCode, UserError } from '../errors.ts';
import { printable, visible } from '../text/visible-text.ts';
import type { CommandDeps } from './io/deps.ts';
import { addRuntimeOptions, duration, wholeNumber } from '../node/options/flags.ts';
import type { OpenPod, PodFlags } from './pod/open-pod.ts';
import type { PodContainer, SelectedPod } from './pod/select-pod.ts';

export interface LogsFlags extends PodFlags {
  selector?: string;
  container?: string;
  allContainers?: boolean;
  follow?: boolean;
  previous?: boolean;
  tail?: number;
  /** Milliseconds. */
  since?: number;
  sinceTime?: string;
  timestamps?: boolean;
  prefix?: boolean;
  limitBytes?: number;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('logs'))
    .description('Print the logs of the containers of pods')
    .usage('[options] POD [CONTAINER]')
    .argument('[pod]', 'name, name without the node, or namespace/name')
    .argument('[container]', 'container, as with -c')
    .option('-l, --selector <selector>', 'print the logs of all containers of pods with these labels, such as app=web')
    .option('-c, --container <name>', 'container (default: the default container of the pod)')
    .option('--all-containers', 'print the logs of all containers of the pod')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .option('-f, --follow', 'keep printing new lines, across restarts, until the container completes')
    .option('-p, --previous', 'print the log of the previous instance')
    .option('--tail <lines>', 'print only the last lines; -1: all (default: all; 10 with -l)', tailLines)
    .option('--since <duration>', 'print only lines newer than this, such as 5m; 0: all', duration)
    .option('--since-time <time>', 'print only lines newer than this RFC 3339 time', rfc3339Time)
    .option('-t, --timestamps', 'print the time before each line')
    .option('--prefix', 'print the pod and the container before each line')
    .option('--limit-bytes <bytes>', 'stop after this number of bytes of each container; 0: no limit', wholeNumber)
    .addHelpText('after', examples)
    .action(async (podName: string | undefined, container: string | undefined, flags: LogsFlags) => {
      await logs(deps, podName, withContainer(flags, container));
    });
}

const examples = `
Examples:
  kubelet-ts logs web                         prints the log of the default container of pod web
  kubelet-ts logs -f --tail 10 web -c app     prints the last 10 lines, then new ones
  kubelet-ts logs --all-containers --prefix web
  kubelet-ts logs -f -l app=web               follows all containers of the current pods with this label
  kubelet-ts logs -p web                      prints the log of the crashed instance`;

/** kubectl: logs.go selectorTail */
const defaultTailOfSelected = 10;

/** Converts the flags to options of the log reader. Throws a `UserError` if they contradict each other. */
export function readOptions(flags: LogsFlags, now: number): Omit<ReadLogsOptions, 'path'> {
  const { follow = false, timestamps = false, since = 0, sinceTime, limitBytes = 0 } = flags;
  const { tail = flags.selector === undefined ? -1 : defaultTailOfSelected } = flags;
  if (since > 0 && sinceTime !== undefined) throw new UserError('use only one of --since and --since-time');
  if (flags.allContainers === true && flags.container !== undefined) {
    throw new UserError('use only one of --all-containers and --container');
  }
  const sinceMs = sinceTime !== undefined ? parseRfc3339Ms(sinceTime) : since === 0 ? undefined : now - since;
  return {
    // The previous instance has finished.
    follow: follow && flags.previous !== true,
    timestamps,
    ...(tail < 0 ? {} : { tailLines: tail }),
    ...(sinceMs === undefined ? {} : { sinceMs }),
    ...(sinceTime === undefined ? {} : { sinceExtraNs: nanosecondsOf(sinceTime) }),
    ...(limitBytes === 0 ? {} : { limitBytes }),
  };
}

/** Throws a `UserError` if the arg and the flag name different containers. */
function withContainer(flags: LogsFlags, container: string | undefined): LogsFlags {
  if (container === undefined) return flags;
  if (flags.container !== undefined && flags.container !== container) {
    throw new UserError(`two containers are named: ${visible(container)} and ${visible(flags.container)}`);
  }
  return { ...flags, container };
}

async function logs(deps: CommandDeps, podName: string | undefined, flags: LogsFlags): Promise<void> {
  const options = readOptions(flags, Date.now());
  const { selector } = flags;
  if ((podName === undefined) === (selector === undefined)) {
    throw new UserError(
      podName === undefined ? 'name a pod, or choose pods with -l' : 'name a pod or use -l, not both',
      { hint: 'kubelet-ts ps --show-labels lists the pods.' },
    );
  }
  const { withPod, withLabelledPods } = await import('./pod/open-pod.ts');
  if (podName !== undefined) {
    await withPod(deps, podName, flags, async (opened) => {
      await printLogs(deps, await sourcesOf(deps, opened, flags), options);
    });
  } else if (selector !== undefined) {
    const { parseLabelSelector } = await import('../api/values/label-selector.ts');
    await withLabelledPods(deps, parseLabelSelector(selector), flags, async (pods) => {
      await printLogs(deps, await sourcesOfAll(deps, pods, flags), options);
    });
  }
}

/** One log to print. */
interface Source {
  opened: OpenPod;
  container: PodContainer;
  path: string;
  prefix: string;
}

/** The logs of one pod that the flags select. Rejects with a `UserError` if the pod has no such log yet. */
async function sourcesOf(deps: CommandDeps, opened: OpenPod, flags: LogsFlags): Promise<Source[]> {
  const { runtime, pod } = opened;
  const sources: Source[] = [];
  for (const container of await selectedContainers(deps, pod, flags)) {
    const attempt = selectedAttempt(container.attempts, flags);
    if (attempt === undefined) {
      const error = noAttempt(opened, container.name, flags);
      if (flags.selector === undefined) await showAwaitedInit(deps, opened, container.name);
      throw error;
    }
    const { status } = await runtime.containerStatus({ containerId: attempt.id });
    const prefix = flags.prefix === true ? visible(`[pod/${pod.name}/${container.name}] `) : '';
    sources.push({ opened, container, path: status?.logPath ?? '', prefix });
  }
  return sources;
}

/** Like `sourcesOf`, for several pods. Warns about a pod without a log, and rejects if no pod has one. */
async function sourcesOfAll(deps: CommandDeps, pods: readonly OpenPod[], flags: LogsFlags): Promise<Source[]> {
  const sources: Source[] = [];
  const failures: UserError[] = [];
  for (const opened of pods) {
    const allContainers = flags.container === undefined;
    try {
      sources.push(...(await sourcesOf(deps, opened, { ...flags, allContainers, prefix: true })));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      failures.push(error);
    }
  }
  const [first] = failures;
  if (sources.length === 0) {
    throw (
      first ??
      new UserError(`no pod has the labels ${visible(flags.selector ?? '')}`, {
        hint: 'kubelet-ts ps --show-labels lists the labels of all pods.',
      })
    );
  }
  for (const { message } of failures) deps.stderr.write(`warning: ${visible(message)}\n`);
  return sources;
}

async function printLogs(
  deps: CommandDeps,
  sources: readonly Source[],
  options: Omit<ReadLogsOptions, 'path'>,
): Promise<void> {
  const stopped = new AbortController();
  // Each write reports the error of the stream.
  deps.stdout.on('error', () => undefined);
  const wholeLines = sources.length > 1;
  const print = (source: Source): Promise<void> =>
    printLog(deps, source, { ...options, signal: stopped.signal }, wholeLines);
  try {
    if (options.follow === true) await Promise.all(sources.map(print));
    else for (const source of sources) await print(source);
  } catch (error) {
    stopped.abort();
    // The reader of our output closed it.
    if (!hasCode(error, 'EPIPE')) throw error;
  }
}

async function printLog(
  { stdout, stderr }: CommandDeps,
  { opened, container, path, prefix }: Source,
  options: Omit<ReadLogsOptions, 'path'>,
  wholeLines: boolean,
): Promise<void> {
  const [{ readLogs }, { writeFully }, { LinePrefixer }, { watchContainerExit }] = await Promise.all([
    import('../engine/logs/read-logs.ts'),
    import('../cri/streaming/write-fully.ts'),
    import('../engine/logs/line-prefixer.ts'),
    import('./pod/watch-container-exit.ts'),
  ]);
  const lines = prefix === '' && !wholeLines ? undefined : new LinePrefixer(prefix);
  const done = new AbortController();
  const finished = options.follow === true ? watchContainerExit(opened, container.name, done.signal) : undefined;
  try {
    const onProblem = (problem: string): void => {
      stderr.write(`warning: ${visible(problem)}\n`);
    };
    await readLogs({ ...options, path, onProblem, ...(finished === undefined ? {} : { finished }) }, (bytes) =>
      writeFully(stdout, lines === undefined ? bytes : lines.add(bytes)),
    );
    if (lines !== undefined) await writeFully(stdout, lines.rest());
  } finally {
    done.abort();
  }
}

async function selectedContainers(
  deps: CommandDeps,
  pod: SelectedPod,
  flags: LogsFlags,
): Promise<readonly PodContainer[]> {
  const { defaultContainer, namedContainer } = await import('./pod/select-pod.ts');
  if (flags.allContainers === true) {
    const started = pod.containers.filter(({ attempts }) => selectedAttempt(attempts, flags) !== undefined);
    return started.length > 0 ? started : pod.containers.slice(0, 1);
  }
  if (flags.container !== undefined) return [namedContainer(pod, flags.container)];
  const { container, note } = defaultContainer(pod);
  deps.stderr.write(note);
  return [container];
}

/** kubelet: kubelet_pods.go validateContainerLogStatus, as far as the runtime's data allows */
function selectedAttempt(attempts: PodContainer['attempts'], { previous = false }: LogsFlags): Container | undefined {
  const started = attempts.filter(({ state }) => state !== 'CONTAINER_CREATED');
  return previous ? started.find(({ state }) => state === 'CONTAINER_EXITED') : started[0];
}

function noAttempt(
  { pod, notStartedBecause, awaitedInit }: OpenPod,
  name: string,
  { previous = false }: LogsFlags,
): UserError {
  const init = awaitedInit(name);
  const hint =
    init === undefined
      ? `Show its events: kubelet-ts describe ${podKey(pod)}`
      : `Show the log of the init container: kubelet-ts logs ${podKey(pod)} -c ${init.name}`;
  if (previous) {
    const message = `previous terminated container "${name}" in pod "${pod.name}" not found`;
    return new UserError(message, init === undefined ? {} : { hint });
  }
  const reason = notStartedBecause(name);
  const because = reason === undefined ? '' : `: ${reason}`;
  return new UserError(`container "${name}" in pod "${pod.name}" is waiting to start${because}`, { hint });
}

/** Prints to stderr the last lines of the init container that this container waits for. */
async function showAwaitedInit({ stderr }: CommandDeps, opened: OpenPod, name: string): Promise<void> {
  const init = opened.awaitedInit(name);
  const attempt = init?.attempts.find(({ state }) => state !== 'CONTAINER_CREATED');
  if (init === undefined || attempt === undefined) return;
  const { lastLines } = await import('./pod/last-lines.ts');
  const { status } = await opened.runtime.containerStatus({ containerId: attempt.id });
  // Without its log, the error that follows still names the init container.
  const text = (await lastLines(status?.logPath ?? '').catch(() => '')).trimEnd();
  if (text === '') return;
  const lines = text.split('\n').map((line) => `  ${printable(line)}\n`);
  stderr.write(`last lines of init container ${printable(init.name)}:\n${lines.join('')}`);
}

function tailLines(text: string): number {
  if (!/^(-1|\d+)$/.test(text)) throw new InvalidArgumentError('It must be a number of lines, or -1.');
  return Number(text);
}

function rfc3339Time(text: string): string {
  if (!isRfc3339Time(text)) throw new InvalidArgumentError('It must be a time such as 2024-05-06T07:08:09Z.');
  return text;
}
