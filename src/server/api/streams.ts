import type { IncomingMessage } from 'node:http';
import { goQuote } from '../../api/values/go-quote.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import { findContainer } from '../../api/values/containers.ts';
import type { Clock } from '../../clock.ts';
import { criLabels } from '../../engine/container/labels.ts';
import { codes } from '../../cri/errors.ts';
import { RpcError } from '../../errors.ts';
import { rpcText } from '../../cri/rpc-text.ts';
import { Refusal } from './answers.ts';
import { type ApiEngine, type ApiRuntime, declaredPod, runningContainerID } from './api-engine.ts';
import { forward } from './forward-stream.ts';
import { requestForm } from './request-form.ts';
import type { Call } from './route-table.ts';

/** The protocol over WebSocket that can end stdin and leave the rest open. */
const translatedProtocol = 'v5.channel.k8s.io';
/** SPDY inside of a WebSocket. */
const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io';

/** What the streams of a client need. */
interface StreamDeps {
  engine: ApiEngine;
  runtime: ApiRuntime;
  /** Milliseconds without a byte until a stream is closed; 0 for no limit. */
  idleTimeoutMs: number;
  clock: Pick<Clock, 'after'>;
  /** Gate ExtendWebSocketsToKubelet. */
  translatesWebSockets: boolean;
  /** Counts a WebSocket that the agent answers itself. */
  onWebSocket: (subresource: 'exec' | 'attach' | 'portforward') => void;
}

/** kubelet: server/server.go getExec */
export async function handleExec(deps: StreamDeps, call: Call): Promise<void> {
  const { engine, runtime } = deps;
  const { params, query } = call;
  const streams = streamsOf((await requestForm(call.request, { multipart: true })).values);
  const pod = declaredPod(engine, params);
  const containerId = runningContainerID(pod, params['container'] ?? '');
  if (containerId === undefined) throw new Refusal(500, `container not found (${goQuote(params['container'] ?? '')})`);
  const cmd = query.getAll('command');
  const { url } = await prepared(runtime.exec({ containerId, cmd, ...streams }));
  await connect(deps, call, { url, streams, subresource: 'exec' });
}

/**
 * Uses the terminal setting of the container, not of the query. kubelet: server/server.go getAttach, kubelet_pods.go
 * GetAttach
 */
export async function handleAttach(deps: StreamDeps, call: Call): Promise<void> {
  const { engine, runtime } = deps;
  const { params } = call;
  const name = params['container'] ?? '';
  const asked = streamsOf((await requestForm(call.request, { multipart: true })).values);
  const pod = declaredPod(engine, params);
  const fullName = podFullName(pod.metadata);
  const containerId = runningContainerID(pod, name);
  if (containerId === undefined) throw new Refusal(500, `container ${name} not found in pod ${fullName}`);
  if (params['uid'] !== undefined && params['uid'] !== pod.metadata.uid) {
    throw new Refusal(500, `pod ${fullName} not found`);
  }
  const { tty = false } = findContainer(pod.spec, name) ?? {};
  const streams = { ...asked, tty };
  const { url } = await prepared(runtime.attach({ containerId, ...streams }));
  await connect(deps, call, { url, streams, subresource: 'attach' });
}

interface Connection {
  url: string;
  streams: ReturnType<typeof streamsOf>;
  subresource: 'exec' | 'attach';
}

/** Answers a WebSocket of the newest protocol itself, because old runtimes lack it; passes others on. */
async function connect(deps: StreamDeps, call: Call, { url, streams, subresource }: Connection): Promise<void> {
  if (!deps.translatesWebSockets || !offersWebSocket(call.request, translatedProtocol)) {
    await forward(call, url, deps);
    return;
  }
  deps.onWebSocket(subresource);
  const { translateStreams } = await import('./translate-streams.ts');
  await translateStreams(call, url, { protocol: translatedProtocol, streams, idleTimeoutMs: deps.idleTimeoutMs });
}

/** kubelet: server/server.go getPortForward */
export async function handlePortForward(deps: StreamDeps, call: Call): Promise<void> {
  const { engine, runtime } = deps;
  const { params, query, request } = call;
  const isTunnel = deps.translatesWebSockets && offersWebSocket(request, tunnelProtocol);
  const port = isWebSocket(request) && !isTunnel ? portsOf(query) : [];
  const pod = declaredPod(engine, params);
  if (params['uid'] !== undefined && params['uid'] !== pod.metadata.uid) throw new Refusal(404, 'pod not found');
  const { uid } = pod.metadata;
  const filter = { labelSelector: { [criLabels.podUID]: uid }, state: { state: 'SANDBOX_READY' } } as const;
  const { items } = await prepared(runtime.listPodSandbox({ filter }));
  const [newest] = items.sort((a, b) => Number(b.createdAt - a.createdAt));
  if (newest === undefined) throw new Refusal(500, `pod not found (${goQuote(podFullName(pod.metadata))})`);
  const { url } = await prepared(runtime.portForward({ podSandboxId: newest.id, port }));
  if (!isTunnel) {
    await forward(call, url, deps);
    return;
  }
  deps.onWebSocket('portforward');
  const { tunnelStream } = await import('./tunnel-stream.ts');
  const { idleTimeoutMs, clock } = deps;
  await tunnelStream(call, url, { protocol: tunnelProtocol, idleTimeoutMs, clock });
}

const prepared = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    throw streamRefusal(error);
  });

/** The refusal of a stream that the runtime did not prepare. kubelet: cri-client streaming/errors.go WriteError */
function streamRefusal(error: unknown): Refusal {
  const code = error instanceof RpcError ? error.code : undefined;
  if (code === codes.notFound) return new Refusal(404, rpcText(error));
  if (code === codes.resourceExhausted) return new Refusal(429, rpcText(error), { 'retry-after': '60' });
  return new Refusal(500, rpcText(error));
}

/** kubelet: cri-client streaming/remotecommand NewOptions */
function streamsOf(form: URLSearchParams): { tty: boolean; stdin: boolean; stdout: boolean; stderr: boolean } {
  const tty = form.get('tty') === '1';
  const stdin = form.get('input') === '1';
  const stdout = form.get('output') === '1';
  // A terminal has no separate stderr.
  const stderr = form.get('error') === '1' && !tty;
  if (!stdin && !stdout && !stderr) throw new Refusal(400, 'you must specify at least 1 of stdin, stdout, stderr');
  return { tty, stdin, stdout, stderr };
}

function offersWebSocket(request: IncomingMessage, protocol: string): boolean {
  const offered = valuesOf(request.rawHeaders, 'sec-websocket-protocol').flatMap((value) => value.split(','));
  return isWebSocket(request) && offered.some((name) => name.trim() === protocol);
}

/** Any Connection header with the word counts, also as a part. kubelet: httpstream/wsstream IsWebSocketRequest */
function isWebSocket({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean {
  const [upgrade = ''] = valuesOf(rawHeaders, 'upgrade');
  const isUpgrade = valuesOf(rawHeaders, 'connection').some((value) => value.toLowerCase().includes('upgrade'));
  return isUpgrade && upgrade.toLowerCase() === 'websocket';
}

/** The values of a header. Requests of HTTP/2 have no `headersDistinct`. */
function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_text, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

/** kubelet: cri-client streaming/portforward NewV4Options */
function portsOf(query: URLSearchParams): number[] {
  const values = query.getAll('port');
  if (values.length === 0) throw new Refusal(400, 'query parameter "port" is required');
  return values.flatMap((value) => {
    if (value === '') throw new Refusal(400, 'query parameter "port" cannot be empty');
    return value.split(',').map((text) => portOf(text, value));
  });
}

/** One port of a list. An error names the whole list. */
function portOf(text: string, list: string): number {
  const reason = /^\d+$/.test(text) ? 'value out of range' : 'invalid syntax';
  if (!/^\d+$/.test(text) || Number(text) > 65535) {
    const problem = `strconv.ParseUint: parsing ${goQuote(text)}: ${reason}`;
    throw new Refusal(400, `unable to parse ${goQuote(list)} as a port: ${problem}`);
  }
  if (Number(text) === 0) throw new Refusal(400, `port ${goQuote(list)} must be > 0`);
  return Number(text);
}
