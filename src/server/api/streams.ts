import { findContainer } from '../../api/values/sidecars.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { criLabels } from '../../engine/container/labels.ts';
import { codes } from '../../cri/errors.ts';
import { errorMessage, hasCode, RpcError } from '../../errors.ts';
import { rpcText } from '../../rpc-text.ts';
import { Refusal, sendError } from './answers.ts';
import { type ApiEngine, type ApiRuntime, declaredPod, runningContainerID } from './api-engine.ts';
import type { Call } from './route-table.ts';

interface Deps {
  engine: ApiEngine;
  runtime: ApiRuntime;
  /** Milliseconds without a byte after which a stream is closed; 0 for no limit. */
  idleTimeoutMs: number;
}

const connectTimeoutMs = 10_000;

/** kubelet: server/server.go getExec */
export async function handleExec({ engine, runtime, idleTimeoutMs }: Deps, call: Call): Promise<void> {
  const { params, query } = call;
  const streams = streamsOf(query, query.get('tty') === '1');
  const pod = declaredPod(engine, params);
  const containerId = runningContainerID(pod, params['container'] ?? '');
  if (containerId === undefined) throw new Refusal(500, `container not found (${JSON.stringify(params['container'])})`);
  const cmd = query.getAll('command');
  const { url } = await prepared(runtime.exec({ containerId, cmd, ...streams }));
  await forward(call, url, idleTimeoutMs);
}

/** Takes the terminal from the container, not from the query. kubelet: server/server.go getAttach */
export async function handleAttach({ engine, runtime, idleTimeoutMs }: Deps, call: Call): Promise<void> {
  const { params, query } = call;
  const name = params['container'] ?? '';
  const asked = streamsOf(query, query.get('tty') === '1');
  const pod = declaredPod(engine, params);
  const fullName = `${pod.metadata.name}_${pod.metadata.namespace}`;
  if (params['uid'] !== undefined && params['uid'] !== pod.metadata.uid) {
    throw new Refusal(500, `pod ${fullName} not found`);
  }
  const containerId = runningContainerID(pod, name);
  if (containerId === undefined) throw new Refusal(500, `container ${name} not found in pod ${fullName}`);
  const { tty = false } = findContainer(pod.spec, name) ?? {};
  const { url } = await prepared(runtime.attach({ containerId, ...asked, tty }));
  await forward(call, url, idleTimeoutMs);
}

/** kubelet: server/server.go getPortForward */
export async function handlePortForward({ engine, runtime, idleTimeoutMs }: Deps, call: Call): Promise<void> {
  const { params, query, request } = call;
  const port = request.headers.upgrade?.toLowerCase() === 'websocket' ? portsOf(query) : [];
  const pod = declaredPod(engine, params);
  if (params['uid'] !== undefined && params['uid'] !== pod.metadata.uid) throw new Refusal(404, 'pod not found');
  const { uid, name, namespace } = pod.metadata;
  const { items } = await runtime.listPodSandbox({
    filter: { labelSelector: { [criLabels.podUID]: uid }, state: { state: 'SANDBOX_READY' } },
  });
  const [newest] = items.sort((a, b) => Number(b.createdAt - a.createdAt));
  if (newest === undefined) throw new Refusal(500, `pod not found (${JSON.stringify(`${name}_${namespace}`)})`);
  const { url } = await prepared(runtime.portForward({ podSandboxId: newest.id, port }));
  await forward(call, url, idleTimeoutMs);
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
function streamsOf(
  query: URLSearchParams,
  tty: boolean,
): { tty: boolean; stdin: boolean; stdout: boolean; stderr: boolean } {
  const stdin = query.get('input') === '1';
  const stdout = query.get('output') === '1';
  // A terminal has no stderr of its own.
  const stderr = query.get('error') === '1' && !tty;
  if (!stdin && !stdout && !stderr) throw new Refusal(400, 'you must specify at least 1 of stdin, stdout, stderr');
  return { tty, stdin, stdout, stderr };
}

/** kubelet: cri-client streaming/portforward NewV4Options */
function portsOf(query: URLSearchParams): number[] {
  const texts = query.getAll('port').flatMap((value) => value.split(','));
  if (texts.length === 0) throw new Refusal(400, 'query parameter "port" is required');
  return texts.map((text) => {
    const quoted = JSON.stringify(text);
    const unparsable = (reason: string): Refusal =>
      new Refusal(400, `unable to parse ${quoted} as a port: strconv.ParseUint: parsing ${quoted}: ${reason}`);
    if (!/^\d+$/.test(text)) throw unparsable('invalid syntax');
    if (Number(text) > 65535) throw unparsable('value out of range');
    if (Number(text) === 0) throw new Refusal(400, `port ${quoted} must be > 0`);
    return Number(text);
  });
}

/** Headers of the client that the runtime does not get. */
const ownHeaders = new Set(['authorization', 'content-length', 'transfer-encoding', 'x-forwarded-for']);

/**
 * Passes the upgraded connection to the streaming server of the runtime, byte for byte, with its answer. kubelet:
 * apimachinery/pkg/util/proxy UpgradeAwareHandler
 */
async function forward({ request, response }: Call, url: string, idleTimeoutMs: number): Promise<void> {
  const upgraded = upgrades.get(response);
  if (upgraded === undefined) {
    sendError(response, 500, 'Upgrade request required');
    return;
  }
  const target = new URL(url);
  let runtime: Socket;
  try {
    runtime = await connected(target);
  } catch (error) {
    sendError(response, 500, `error dialing backend: ${dialText(target, error)}`);
    return;
  }
  const { socket, head } = upgraded;
  response.detachSocket(socket);
  for (const side of [socket, runtime]) {
    side.setTimeout(idleTimeoutMs, () => {
      socket.destroy();
      runtime.destroy();
    });
    // Each side closes the other one below.
    side.on('error', () => undefined);
  }
  socket.once('close', () => runtime.destroy());
  runtime.once('close', () => {
    socket.destroySoon();
  });
  runtime.write(requestHead(request, target));
  if (head.length > 0) runtime.write(head);
  socket.pipe(runtime);
  runtime.pipe(socket);
}

/** The connection behind an answer to a request for an upgrade. */
export const upgrades = new WeakMap<ServerResponse, { socket: Socket; head: Buffer }>();

function connected({ hostname, port }: URL): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) });
    socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error('i/o timeout')));
    socket.once('error', reject).once('connect', () => {
      socket.off('error', reject).setTimeout(0);
      resolve(socket);
    });
  });
}

function dialText({ hostname, port }: URL, error: unknown): string {
  const reason = hasCode(error, 'ECONNREFUSED') ? 'connect: connection refused' : errorMessage(error);
  return `dial tcp ${hostname}:${port}: ${reason}`;
}

function requestHead({ method = 'GET', rawHeaders, socket }: IncomingMessage, { pathname, search }: URL): string {
  const lines = [`${method} ${pathname}${search} HTTP/1.1`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (!ownHeaders.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  lines.push(`X-Forwarded-For: ${(socket.remoteAddress ?? '').replace(/^::ffff:/, '')}`);
  if (method !== 'GET') lines.push('Content-Length: 0');
  return `${lines.join('\r\n')}\r\n\r\n`;
}
