import { findContainer } from '../../api/values/sidecars.ts';
import { stat } from 'node:fs/promises';
import { isRfc3339Time } from '../../api/values/time.ts';
import type { Pod } from '../../api/types.ts';
import { readLogs, type ReadLogsOptions, UnknownLogFormat } from '../../engine/logs/read-logs.ts';
import { errorMessage } from '../../errors.ts';
import { sendPlain } from './answers.ts';
import { type ApiEngine, type ApiRuntime, containerStatuses, idInRuntime, podNamed } from './api-engine.ts';
import { goQuoted } from './go-text.ts';
import type { Call } from './route-table.ts';

interface Deps {
  engine: ApiEngine;
  runtime: ApiRuntime;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Gate PodLogsQuerySplitStreams. */
  splitStreams: boolean;
}

/** The options of a request for a log. */
export interface LogQuery {
  follow: boolean;
  previous: boolean;
  timestamps: boolean;
  sinceMs?: number;
  tailLines?: number;
  limitBytes?: number;
  /** `All`, `Stdout` or `Stderr`. */
  stream: string;
}

const undecodable = { status: 400, text: '{"message": "Unable to decode query."}' } as const;
const invalid = { status: 422, text: '{"message": "Invalid request."}' } as const;
const streams = ['All', 'Stdout', 'Stderr'];

/** kubelet: server/server.go getContainerLogs, core/validation ValidatePodLogOptions */
export function parseLogQuery(
  query: URLSearchParams,
  { now, splitStreams }: { now: number; splitStreams: boolean },
): LogQuery | { status: number; text: string } {
  // `tail` is an old name; `all` stands for no limit.
  const tail = query.get('tail');
  const tailText =
    tail !== null && tail !== '' ? (tail === 'all' ? undefined : tail) : (query.get('tailLines') ?? undefined);
  const tailLines = integer(tailText);
  const limitBytes = integer(query.get('limitBytes') ?? undefined);
  const sinceSeconds = integer(query.get('sinceSeconds') ?? undefined);
  const sinceTime = query.get('sinceTime') ?? '';
  if (tailLines === 'bad' || limitBytes === 'bad' || sinceSeconds === 'bad') return undecodable;
  if (sinceTime !== '' && !isRfc3339Time(sinceTime)) return undecodable;
  const stream = query.get('stream') ?? 'All';
  if (!splitStreams && stream !== 'All') {
    return {
      status: 400,
      text: `unable to return the given log stream: ${JSON.stringify(stream)}. Please enable PodLogsQuerySplitStreams feature gate in kubelet`,
    };
  }
  if (tailLines !== undefined && tailLines < 0) return invalid;
  if (limitBytes !== undefined && limitBytes < 1) return invalid;
  if (sinceSeconds !== undefined && (sinceSeconds < 1 || sinceTime !== '')) return invalid;
  if (!streams.includes(stream) || (stream !== 'All' && tailLines !== undefined)) return invalid;
  const sinceMs =
    sinceTime !== '' ? Date.parse(sinceTime.replace(',', '.')) : sinceSeconds && now - sinceSeconds * 1000;
  return {
    follow: boolean(query.get('follow')),
    previous: boolean(query.get('previous')),
    timestamps: boolean(query.get('timestamps')),
    stream,
    ...(sinceMs !== undefined && { sinceMs }),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
  };
}

/** Returns `bad` for what Go's ParseInt of 64 bits refuses. */
function integer(text: string | undefined): number | 'bad' | undefined {
  if (text === undefined) return undefined;
  if (!/^[-+]?\d+$/.test(text)) return 'bad';
  const value = BigInt(text.replace('+', ''));
  return BigInt.asIntN(64, value) === value ? Number(value) : 'bad';
}

/** kubelet: apimachinery/pkg/conversion/queryparams Convert_Slice_string_To_bool */
const boolean = (value: string | null): boolean => value !== null && value !== '0' && value.toLowerCase() !== 'false';

/** The instance to read, or why there is none. kubelet: kubelet_pods.go validateContainerLogStatus */
export function logInstance(
  pod: Pod,
  name: string,
  previous: boolean,
): { id: string; runs: boolean } | { problem: string } {
  const where = `container ${JSON.stringify(name)} in pod ${JSON.stringify(pod.metadata.name)}`;
  const status = containerStatuses(pod).find((container) => container.name === name);
  if (status === undefined) return { problem: `${where} is not available` };
  const { state = {}, lastState = {}, containerID } = status;
  const lastID = idInRuntime(lastState.terminated?.containerID);
  if (previous) {
    return lastID === undefined ? { problem: `previous terminated ${where} not found` } : { id: lastID, runs: false };
  }
  const id = idInRuntime(containerID);
  if (state.running !== undefined && id !== undefined) return { id, runs: true };
  const endedID = idInRuntime(state.terminated?.containerID);
  if (endedID !== undefined) return { id: endedID, runs: false };
  if (lastID !== undefined) return { id: lastID, runs: false };
  if (state.terminated !== undefined) return { problem: `${where} is terminated` };
  return { problem: `${where} is waiting to start: ${waitingText(state.waiting?.reason ?? '')}` };
}

function waitingText(reason: string): string {
  if (reason === 'ErrImagePull') return "image can't be pulled";
  if (reason === 'ImagePullBackOff') return 'trying and failing to pull image';
  return reason;
}

/** kubelet: server/server.go getContainerLogs, kubelet_pods.go GetKubeletContainerLogs */
export async function handleContainerLogs(deps: Deps, { response, params, query }: Call): Promise<void> {
  const { engine, runtime } = deps;
  const { namespace = '', pod: podName = '', container = '' } = params;
  const asked = parseLogQuery(query, { now: deps.now(), splitStreams: deps.splitStreams });
  if ('status' in asked) {
    sendPlain(response, asked.status, asked.text);
    return;
  }
  const pod = podNamed(engine, namespace, podName);
  if (pod === undefined) {
    sendPlain(response, 404, `pod ${JSON.stringify(podName)} does not exist`);
    return;
  }
  if (findContainer(pod.spec, container) === undefined) {
    sendPlain(response, 404, `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(podName)}`);
    return;
  }
  const closed = new AbortController();
  response.once('close', () => {
    closed.abort(new Error('the client is gone'));
  });
  const instance = logInstance(pod, container, asked.previous);
  if ('problem' in instance) {
    response.writeHead(400);
    response.write(instance.problem);
    response.end();
    return;
  }
  const { status } = await runtime.containerStatus({ containerId: instance.id }, { signal: closed.signal });
  const path = status?.logPath ?? '';
  // kubelet: cri-client logs.go ReadLogs
  if (instance.runs && !(await isThere(path))) {
    await runtime.reopenContainerLog({ containerId: instance.id }, { signal: closed.signal });
  }
  const { stream, follow, timestamps, sinceMs, tailLines, limitBytes } = asked;
  const options: ReadLogsOptions = {
    timestamps,
    ...(sinceMs !== undefined && { sinceMs }),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
    path,
    signal: closed.signal,
    ...(stream !== 'All' && { stream: stream === 'Stdout' ? 'stdout' : 'stderr' }),
    ...(follow && instance.runs && { follow, finished: whenEnded(engine, instance.id, closed.signal) }),
  };
  // A log may be silent for long.
  response.setTimeout(0);
  response.writeHead(200);
  response.flushHeaders();
  try {
    await readLogs(options, (bytes) => written(response, bytes, closed.signal));
  } catch (error) {
    if (closed.signal.aborted) return;
    // The status is sent, so the text follows the log, as in the kubelet.
    response.write(failureText(error));
  }
  response.end();
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

function failureText(error: unknown): string {
  if (!(error instanceof UnknownLogFormat)) return errorMessage(error);
  return `failed to get parse function: unsupported log format: ${goQuoted(error.line.toString())}`;
}

/** Aborted when the container has ended. */
function whenEnded(engine: ApiEngine, id: string, closed: AbortSignal): AbortSignal {
  const ended = new AbortController();
  const unsubscribe = engine.subscribe((event) => {
    if (event.type === 'ContainerDied' || event.type === 'ContainerRemoved') {
      if (event.id === id) ended.abort();
    }
  });
  closed.addEventListener('abort', unsubscribe, { once: true });
  ended.signal.addEventListener('abort', unsubscribe, { once: true });
  const runs = engine
    .snapshot()
    .pods.some(({ pod }) =>
      containerStatuses(pod).some(
        ({ containerID, state }) => idInRuntime(containerID) === id && state?.running !== undefined,
      ),
    );
  if (!runs) ended.abort();
  return ended.signal;
}

/** Waits until a slow client has room again. */
function written(response: Call['response'], bytes: Buffer, closed: AbortSignal): Promise<void> {
  if (response.write(bytes)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(new Error('the client is gone'));
    };
    closed.addEventListener('abort', onAbort, { once: true });
    response.once('drain', () => {
      closed.removeEventListener('abort', onAbort);
      resolve();
    });
  });
}
