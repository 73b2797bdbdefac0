import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../../api/types.ts';
import { parseInt64 } from '../../api/values/go-numbers.ts';
import { goQuote } from '../../api/values/go-quote.ts';
import { findContainer } from '../../api/values/containers.ts';
import { parseRfc3339Ms } from '../../api/values/time.ts';
import { allContainerStatuses } from '../../api/values/container-statuses.ts';
import type { Clock } from '../../clock.ts';
import { pathSteps } from '../../engine/host/path-steps.ts';
import { nanosecondsOf } from '../../engine/logs/log-formatter.ts';
import { MissingLog, UnknownLogFormat } from '../../engine/logs/log-reader.ts';
import { readLogs, type ReadLogsOptions } from '../../engine/logs/read-logs.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { sendPlain } from './answers.ts';
import { type ApiEngine, type ApiRuntime, idInRuntime, podNamed } from './api-engine.ts';
import type { Call } from './route-table.ts';
import { patienceMs } from './send-parts.ts';

interface Deps {
  engine: ApiEngine;
  runtime: ApiRuntime;
  clock: Pick<Clock, 'now' | 'after'>;
  /** Gate PodLogsQuerySplitStreams. */
  splitStreams: boolean;
}

/** The options of a request for a log. */
export interface PodLogOptions {
  follow: boolean;
  previous: boolean;
  timestamps: boolean;
  sinceMs?: number;
  sinceExtraNs?: number;
  tailLines?: number;
  limitBytes?: number;
  /** `All`, `Stdout` or `Stderr`. */
  stream: string;
}

const undecodable = { status: 400, text: '{"message": "Unable to decode query."}' } as const;
const invalid = { status: 422, text: '{"message": "Invalid request."}' } as const;
const streams = ['All', 'Stdout', 'Stderr'];
/** Values of sinceTime that set no time. kubelet: apimachinery/pkg/apis/meta/v1 Time.UnmarshalQueryParameter */
const noTimes = ['', 'null'];

/** kubelet: server/server.go getContainerLogs, core/validation ValidatePodLogOptions */
export function parsePodLogOptions(
  query: URLSearchParams,
  now: number,
): PodLogOptions | { status: number; text: string } {
  // `tail` is an old name; `all` stands for no limit.
  const tail = query.get('tail');
  const tailText =
    tail !== null && tail !== '' ? (tail === 'all' ? undefined : tail) : (query.get('tailLines') ?? undefined);
  const tailLines = integer(tailText);
  const limitBytes = integer(query.get('limitBytes') ?? undefined);
  const sinceSeconds = int64(query.get('sinceSeconds') ?? undefined);
  const sinceTime = query.get('sinceTime') ?? undefined;
  if (tailLines === 'bad' || limitBytes === 'bad' || sinceSeconds === 'bad') return undecodable;
  const hasTime = sinceTime !== undefined && !noTimes.includes(sinceTime);
  const sinceTimeMs = hasTime ? parseRfc3339Ms(sinceTime) : undefined;
  if (hasTime && sinceTimeMs === undefined) return undecodable;
  const stream = query.get('stream') ?? 'All';
  if (tailLines !== undefined && tailLines < 0) return invalid;
  if (limitBytes !== undefined && limitBytes < 1) return invalid;
  if (sinceSeconds !== undefined && (sinceSeconds < 1n || sinceTime !== undefined)) return invalid;
  if (!streams.includes(stream) || (stream !== 'All' && tailLines !== undefined)) return invalid;
  return {
    follow: boolean(query.get('follow')),
    previous: boolean(query.get('previous')),
    timestamps: boolean(query.get('timestamps')),
    stream,
    ...(sinceSeconds !== undefined && { sinceMs: now - goMilliseconds(sinceSeconds) }),
    ...(hasTime && sinceTimeMs !== undefined && { sinceMs: sinceTimeMs, sinceExtraNs: nanosecondsOf(sinceTime) }),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
  };
}

function integer(text: string | undefined): number | 'bad' | undefined {
  const value = int64(text);
  return typeof value === 'bigint' ? Number(value) : value;
}

/** Returns `bad` for what Go's ParseInt of 64 bits refuses. */
function int64(text: string | undefined): bigint | 'bad' | undefined {
  if (text === undefined) return undefined;
  const value = parseInt64(text);
  return typeof value === 'string' ? 'bad' : value;
}

/** The milliseconds of a Go duration of so many seconds. Its nanoseconds wrap in 64 bits. */
const goMilliseconds = (seconds: bigint): number => Number(BigInt.asIntN(64, seconds * 1_000_000_000n)) / 1e6;

/** kubelet: apimachinery/pkg/conversion/queryparams Convert_Slice_string_To_bool */
const boolean = (value: string | null): boolean => value !== null && value !== '0' && value.toLowerCase() !== 'false';

/** One instance of a container. */
interface Instance {
  id: string;
  /** The id with its prefix such as `containerd://`. */
  containerID: string;
  runs: boolean;
}

/** The instance to read, or why there is none. kubelet: kubelet_pods.go validateContainerLogStatus */
export function logInstance(pod: Pod, name: string, previous: boolean): Instance | { problem: string } {
  const where = `container ${goQuote(name)} in pod ${goQuote(pod.metadata.name)}`;
  const status = allContainerStatuses(pod.status).find((container) => container.name === name);
  if (status === undefined) return { problem: `${where} is not available` };
  const { state = {}, lastState = {}, containerID } = status;
  const last = instanceOf(lastState.terminated?.containerID, false);
  if (previous) return last ?? { problem: `previous terminated ${where} not found` };
  const running = state.running && instanceOf(containerID, true);
  const found = running ?? instanceOf(state.terminated?.containerID, false) ?? last;
  if (found !== undefined) return found;
  // A lost container has no id in its last state.
  if ((state.terminated ?? lastState.terminated) !== undefined) return { problem: `${where} is terminated` };
  return { problem: `${where} is waiting to start: ${waitingText(state.waiting?.reason ?? '')}` };
}

function instanceOf(containerID: string | undefined, runs: boolean): Instance | undefined {
  const id = idInRuntime(containerID);
  return id === undefined || containerID === undefined ? undefined : { id, containerID, runs };
}

function waitingText(reason: string): string {
  if (reason === 'ErrImagePull') return "image can't be pulled";
  if (reason === 'ImagePullBackOff') return 'trying and failing to pull image';
  return reason;
}

/** kubelet: server/server.go getContainerLogs, kubelet_pods.go GetKubeletContainerLogs */
export async function handleContainerLogs(deps: Deps, { response, params, query }: Call): Promise<void> {
  const { namespace = '', pod: podName = '', container = '' } = params;
  const asked = parsePodLogOptions(query, deps.clock.now());
  if ('status' in asked) {
    sendPlain(response, asked.status, asked.text);
    return;
  }
  const pod = podNamed(deps.engine, namespace, podName);
  if (pod === undefined) {
    sendPlain(response, 404, `pod ${goQuote(podName)} does not exist`);
    return;
  }
  if (findContainer(pod.spec, container) === undefined) {
    sendPlain(response, 404, `container ${goQuote(container)} not found in pod ${goQuote(podName)}`);
    return;
  }
  if (!deps.splitStreams && asked.stream !== 'All') {
    sendPlain(response, 400, `unable to return the given log stream: ${goQuote(asked.stream)}. ${needsGate}`);
    return;
  }
  const instance = logInstance(pod, container, asked.previous);
  if ('problem' in instance) {
    response.writeHead(400);
    response.write(instance.problem);
    response.end();
    return;
  }
  await answerWithLog(deps, response, { options: asked, instance });
}

const needsGate = 'Please enable PodLogsQuerySplitStreams feature gate in kubelet';

interface LogRequest {
  options: PodLogOptions;
  instance: Instance;
}

/** Sends the status before finding the log, as the kubelet does, so that the text of a failure follows the log. */
async function answerWithLog(deps: Deps, response: Call['response'], request: LogRequest): Promise<void> {
  const closed = new AbortController();
  response.once('close', () => {
    closed.abort(new Error('the client is gone'));
  });
  const { clock } = deps;
  const client: Client = { response, closed: closed.signal, clock };
  // A log may be silent for a long time.
  response.setTimeout(0);
  response.writeHead(200);
  response.flushHeaders();
  try {
    const options = await readOptions(deps, request, closed.signal);
    await readLogs(options, (bytes) => write(client, bytes));
  } catch (error) {
    if (closed.signal.aborted) return;
    response.write(await failureText(error));
  }
  response.end();
  // Fails if the client has disconnected.
  if (!response.writableFinished) await untilEvent(client, 'finish').catch(() => undefined);
}

async function readOptions(
  { engine, runtime }: Deps,
  { options: asked, instance }: LogRequest,
  signal: AbortSignal,
): Promise<ReadLogsOptions> {
  // A signal that is already aborted would not stop what starts below.
  signal.throwIfAborted();
  // Subscribes before the runtime is queried, because an exit is reported only once. The status of a pod may be older
  // than the exit.
  const finished = asked.follow && instance.runs ? whenEnded(engine, instance.id, signal) : undefined;
  const { path, runs } = await instanceLog(runtime, instance, signal);
  // The kubelet reopens it when it rotates logs: container_log_manager.go rotateLogs. Otherwise, the log is missing.
  if (runs && !(await pathExists(path))) {
    await runtime.reopenContainerLog({ containerId: instance.id }, { signal }).catch(() => undefined);
  }
  const { stream, timestamps, sinceMs, sinceExtraNs, tailLines, limitBytes } = asked;
  return {
    timestamps,
    ...(sinceMs !== undefined && { sinceMs }),
    ...(sinceExtraNs !== undefined && { sinceExtraNs }),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
    path,
    signal,
    ...(stream !== 'All' && { stream: stream === 'Stdout' ? 'stdout' : 'stderr' }),
    ...(finished !== undefined && runs && { follow: true, finished, oneInstance: true }),
  };
}

/** The path of an instance's log, and whether it still grows. kubelet: kuberuntime_container.go GetContainerLogs */
async function instanceLog(
  runtime: ApiRuntime,
  { id, containerID }: Instance,
  signal: AbortSignal,
): Promise<{ path: string; runs: boolean }> {
  const { status } = await runtime.containerStatus({ containerId: id }, { signal }).catch((cause: unknown) => {
    throw new UserError(`unable to retrieve container logs for ${containerID}`, { cause });
  });
  if (status === undefined) throw new UserError('container status is nil');
  return { path: status.logPath, runs: status.state === 'CONTAINER_RUNNING' };
}

const pathExists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** kubelet: cri-client logs.go ReadLogs */
async function failureText(error: unknown): Promise<string> {
  if (error instanceof MissingLog) return missingText(error.path);
  if (!(error instanceof UnknownLogFormat)) return errorMessage(error);
  return `failed to get parse function: unsupported log format: ${goQuote(error.line.toString())}`;
}

/** Names the first part of the path that is missing, behind the links before it, as Go's filepath.EvalSymlinks does. */
async function missingText(path: string): Promise<string> {
  const { folder, name } = (await pathSteps(path)).at(-1) ?? { folder: '', name: path };
  const problem = `lstat ${join(folder, name)}: no such file or directory`;
  return `failed to try resolving symlinks in path ${goQuote(path)}: ${problem}`;
}

/** Aborted when the container exits. */
function whenEnded(engine: ApiEngine, id: string, closed: AbortSignal): AbortSignal {
  const ended = new AbortController();
  const unsubscribe = engine.subscribe((event) => {
    if (event.type === 'ContainerDied' || event.type === 'ContainerRemoved') {
      if (event.id === id) ended.abort();
    }
  });
  closed.addEventListener('abort', unsubscribe, { once: true });
  ended.signal.addEventListener('abort', unsubscribe, { once: true });
  return ended.signal;
}

interface Client {
  response: Call['response'];
  /** Aborted when the client disconnects. */
  closed: AbortSignal;
  clock: Pick<Clock, 'after'>;
}

/** Writes, then waits until a slow client can accept more. */
async function write(client: Client, bytes: Buffer): Promise<void> {
  if (!client.response.write(bytes)) await untilEvent(client, 'drain');
}

/** Waits until the client has accepted what was written. Closes the connection if that takes too long. */
async function untilEvent({ response, closed, clock }: Client, event: 'drain' | 'finish'): Promise<void> {
  const cancel = clock.after(patienceMs, () => {
    response.destroy();
  });
  try {
    await once(response, event, { signal: closed });
  } finally {
    cancel();
  }
}
