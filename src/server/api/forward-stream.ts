import { type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { connect as connectTLS } from 'node:tls';
import { goQuote } from '../../api/values/go-quote.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import { Refusal, sendError } from './answers.ts';
import { maxSilenceMs } from './max-silence.ts';
import type { Call } from './route-table.ts';

const connectTimeoutMs = 10_000;
/** Time for a whole refusal of the runtime to reach the client. kubelet: upgradeaware.go tryUpgrade */
const refusalLimitMs = 10_000;

interface Deps {
  /** Milliseconds without a byte until a stream is closed; 0 for no limit. */
  idleTimeoutMs: number;
  clock: Pick<Clock, 'after'>;
}

/** Headers of the client that the runtime does not get. */
export const ownHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'content-length',
  'transfer-encoding',
  'x-forwarded-for',
]);
/** Headers of the runtime that belong only to its connection. */
const connectionHeaders = new Set(['connection', 'keep-alive', 'transfer-encoding']);

/** The connection behind an answer to a request for an upgrade. */
export const upgrades = new WeakMap<ServerResponse, { socket: Socket; head: Buffer }>();

/**
 * Requests the same upgrade from the streaming server of the runtime. If it agrees, passes on its answer and then every
 * byte in both directions. If it refuses, passes on only its answer. kubelet: apimachinery/pkg/util/proxy
 * UpgradeAwareHandler
 */
export async function forward(call: Call, url: string, { idleTimeoutMs, clock }: Deps): Promise<void> {
  const { request, response } = call;
  const { method = 'GET', rawHeaders } = request;
  const upgraded = await upgradeRuntime(call, url, { clock, method, headers: without(ownHeaders, rawHeaders) });
  if (upgraded === undefined) return;
  const { socket, head, runtime, answer } = upgraded;
  response.detachSocket(socket);
  socket.write(headOf(answer.message), 'latin1');
  socket.write(answer.head);
  runtime.write(head);
  for (const side of [socket, runtime]) {
    side.setTimeout(idleTimeoutMs, () => {
      socket.destroy();
      runtime.destroy();
    });
  }
  pipeBothDirections(socket, runtime, () => {
    // Unread data of the client may stay only for a limited time.
    socket.setTimeout(maxSilenceMs, () => socket.destroy());
    socket.destroySoon();
  });
}

/** The upgrade to request from the runtime. */
interface Upgrade {
  clock: Deps['clock'];
  method: string;
  /** Alternating names and values. */
  headers: readonly string[];
}

interface Upgraded {
  /** The connection of the client, and what it already sent. */
  socket: Socket;
  head: Buffer;
  runtime: Socket;
  answer: Extract<Answer, { kind: 'upgraded' }>;
}

/** Resolves with both connections once the runtime agrees. If not, answers the client and resolves to undefined. */
export async function upgradeRuntime(
  { request, response }: Pick<Call, 'request' | 'response'>,
  url: string,
  { clock, method, headers }: Upgrade,
): Promise<Upgraded | undefined> {
  const target = targetOf(url);
  const upgraded = upgrades.get(response);
  if (upgraded === undefined) {
    sendError(response, 500, 'Upgrade request required');
    return undefined;
  }
  const { socket, head } = upgraded;
  const runtime = await connected(target).catch((error: unknown) => {
    sendError(response, 500, `error dialing backend: ${dialText(target, error)}`);
  });
  if (runtime === undefined) return undefined;
  socket.once('close', () => runtime.destroy());
  if (socket.destroyed) {
    runtime.destroy();
    return undefined;
  }
  try {
    const length = method === 'GET' ? [] : ['Content-Length', '0'];
    const answer = await sendUpgrade(runtime, target, method, [...headers, ...forwardedFor(request), ...length]);
    if (answer.kind === 'upgraded') return { socket, head, runtime, answer };
    refuse(answer.message, { response, runtime, clock });
  } catch (error) {
    sendError(response, 500, hasCode(error, 'ECONNRESET') ? 'unexpected EOF' : errorMessage(error));
  }
  return undefined;
}

/** kubelet: cri-client remote_runtime.go Exec, apimachinery/pkg/util/proxy DialURL */
function targetOf(url: string): URL {
  if (url === '') throw new Refusal(500, 'URL is not set');
  if (!URL.canParse(url)) throw new Refusal(500, `parse ${goQuote(url)}: invalid URL`);
  return new URL(url);
}

/** Resolves with a connection to the runtime. Its certificate must be trusted on this machine, as for the kubelet. */
function connected({ protocol, hostname, port }: URL): Promise<Socket> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const isTLS = protocol === 'https:';
  return new Promise((resolve, reject) => {
    const socket = isTLS
      ? connectTLS({
          host,
          port: Number(port || 443),
          rejectUnauthorized: true,
          ...(isIP(host) === 0 && { servername: host }),
        })
      : connectPlain({ host, port: Number(port || 80) });
    socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error('i/o timeout')));
    socket.once('error', reject).once(isTLS ? 'secureConnect' : 'connect', () => {
      // An error closes the connection, which stops the stream.
      socket.off('error', reject).on('error', () => undefined);
      socket.setTimeout(0);
      resolve(socket);
    });
  });
}

const untrusted = ['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'];

/** The error of a connection to the runtime, in Go's words. */
export function dialText({ hostname, port }: URL, error: unknown): string {
  if (hasCode(error, ...untrusted)) {
    return 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
  }
  const reason = hasCode(error, 'ECONNREFUSED') ? 'connect: connection refused' : errorMessage(error);
  return `dial tcp ${hostname}:${port}: ${reason}`;
}

type Answer =
  { kind: 'upgraded'; message: IncomingMessage; head: Buffer } | { kind: 'refused'; message: IncomingMessage };

/** The answer of the runtime. Rejects if it is neither an upgrade nor an error. */
function sendUpgrade(runtime: Socket, target: URL, method: string, headers: string[]): Promise<Answer> {
  const path = `${target.pathname}${target.search}`;
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ createConnection: () => runtime, method, path, headers });
    outgoing.on('error', reject);
    outgoing.once('upgrade', (message, _socket, head) => {
      resolve({ kind: 'upgraded', message, head });
    });
    outgoing.once('response', (message) => {
      const { statusCode = 0 } = message;
      if (statusCode >= 400) resolve({ kind: 'refused', message });
      else outgoing.destroy(new Error(`invalid upgrade response: status code ${statusCode}`));
    });
    outgoing.end();
  });
}

/** kubelet: apimachinery/pkg/util/net AppendForwardedForHeader */
function forwardedFor({ headersDistinct, socket }: IncomingMessage): string[] {
  const client = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  return ['X-Forwarded-For', [...(headersDistinct['x-forwarded-for'] ?? []), client].join(', ')];
}

/** Alternating names and values, except those of `left`. */
export function without(left: ReadonlySet<string>, rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_text, index) => !left.has(rawHeaders[index - (index % 2)]?.toLowerCase() ?? ''));
}

function headOf({ statusMessage = '', rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 101 ${statusMessage}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    lines.push(`${rawHeaders[index] ?? ''}: ${rawHeaders[index + 1] ?? ''}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Passes on the answer of a runtime that refused. Drops bytes that the client sends later. */
function refuse(
  message: IncomingMessage,
  { response, runtime, clock }: { response: ServerResponse; runtime: Socket; clock: Deps['clock'] },
): void {
  const { statusCode = 500, statusMessage = '', rawHeaders } = message;
  const cancel = clock.after(refusalLimitMs, () => {
    runtime.destroy();
    response.destroy();
  });
  response.sendDate = false;
  response.writeHead(statusCode, statusMessage, without(connectionHeaders, rawHeaders));
  pipeline(message, response, () => {
    cancel();
    runtime.destroy();
  });
}

/** Passes every byte of each side to the other. `onEnd` ends the client's side after the runtime closed its own. */
export function pipeBothDirections(client: Duplex, runtime: Socket, onEnd: () => void): void {
  runtime.once('close', onEnd);
  client.pipe(runtime);
  runtime.pipe(client);
}
