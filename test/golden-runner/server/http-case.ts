import { gunzipSync } from 'node:zlib';
import { status as grpcStatus } from '@grpc/grpc-js';
import { type Call, type MethodName, Refusal } from '../../fakes/fake-calls.ts';
import { exchange, type RawAnswer } from './http-exchange.ts';
import { alike, withKnown } from './placeholders.ts';
import type { ServerUnderTest } from './recorded-servers.ts';
import { flagzPage, withRecordedFlags } from './flagz-page.ts';
import { differencesOfShape, shapeOf } from './shape.ts';

/** A request to one of the servers, and the answer. */
export interface HTTPCase {
  name: string;
  server: string;
  request: {
    method: string;
    path: string;
    query?: string;
    auth: string;
    headers?: Record<string, string>;
    body?: string;
    upgrade?: boolean;
  };
  response: RecordedResponse;
  runtime?: Record<string, { code: string; message: string }>;
  runtimeCalls?: object[];
  forwarded?: object[];
}

interface RecordedResponse {
  status: number;
  contentType: string | null;
  headers: Record<string, string>;
  body?: string;
  bodyBase64?: string;
  bodyStartsWith?: string;
  bodyKind?: string;
  bodyEndsWithNewline?: boolean;
  shape?: string[];
  json?: unknown;
  gunzipped?: boolean;
  /** The JSON has line breaks. */
  indented?: boolean;
  upgraded?: boolean;
  /** The agent answers the WebSocket itself. */
  translated?: boolean;
  connectionError?: unknown;
  stillOpenAfterSeconds?: number;
}

/** Longer than any answer takes. */
const patienceMs = 40_000;
/** Nothing comes any more after this time. */
const silenceMs = 400;

/** Headers that the HTTP library of either side chooses, such as a length in the place of chunks. */
const free = new Set(['transfer-encoding', 'content-length', 'date', 'keep-alive', 'connection']);

/** Sends the request over a socket, and compares all that was recorded of the answer. */
export async function replayHTTP(
  recorded: HTTPCase,
  server: ServerUnderTest,
): Promise<{ expected: object; actual: object }> {
  const { agent, streaming, known, port, tls } = server;
  const { request, response } = recorded;
  const calls = agent.world.runtime.calls.length;
  const forwarded = streaming.requests.length;
  const forget = injectErrors(recorded, server);
  const answer = await exchange(rawRequest(recorded, server), {
    port,
    ...(tls && { tls: tls[request.auth] ?? {} }),
    patienceMs: response.stillOpenAfterSeconds === undefined ? patienceMs : silenceMs,
  });
  forget();
  const actual = {
    ...answerOf({ ...answer, body: withRecordedPlaces(answer.body, server) }, response, request.method === 'HEAD'),
    runtimeCalls: agent.world.runtime.calls.slice(calls).flatMap(recordedCall),
    forwarded: streaming.requests.slice(forwarded).map((one) => comparableForward(one, response)),
  };
  const expected = {
    ...expectedOf(response),
    runtimeCalls: recorded.runtimeCalls ?? [],
    forwarded: (recorded.forwarded ?? []).map((one) => comparableForward(one, response)),
  };
  return { expected, actual: alike(expected, actual, known) as object };
}

/** Ports and folders of logs as they were recorded. Compressed bodies stay as they are. */
function withRecordedPlaces(body: Buffer, { agent }: ServerUnderTest): Buffer {
  const { ports, options, systemLogs } = agent;
  const text = body.toString('latin1');
  const numbers = { [ports.secure]: '10250', [ports.readonly]: '10255', [ports.healthz]: '10248' };
  const own = Object.entries(numbers).reduce(
    (shown, [port, recorded]) =>
      shown.replaceAll(new RegExp(`(ort":|127\\.0\\.0\\.1:)${port}\\b`, 'g'), `$1${recorded}`),
    text,
  );
  const shown = own.replaceAll(options.podLogsDir, '/var/log/pods').replaceAll(systemLogs, '/var/log');
  return Buffer.from(shown, 'latin1');
}

/** A pull that fails is by turns in two states, and a request comes in either. */
const inOneState = (text: string): string =>
  text.replace("waiting to start: image can't be pulled", 'waiting to start: trying and failing to pull image');

function rawRequest({ request }: HTTPCase, { known }: ServerUnderTest): Parameters<typeof exchange>[0] {
  const { method, path, query, auth, headers = {}, body, upgrade } = request;
  const target = withKnown(query === undefined ? path : `${path}?${query}`, known);
  const authorization = authorizationOf(auth);
  return {
    method,
    target,
    headers: [
      ['Host', '127.0.0.1:10250'],
      ['User-Agent', 'Go-http-client/1.1'],
      ...Object.entries(headers),
      ...(headers['Connection'] === undefined ? [['Connection', 'close'] as const] : []),
      ...(authorization === undefined ? [] : [['Authorization', authorization] as const]),
      ...(body === undefined ? [] : [['Content-Length', String(Buffer.byteLength(body))] as const]),
    ],
    ...(body !== undefined && { body }),
    ...(upgrade === true && { afterUpgrade: 'ping' }),
  };
}

/** The header of credentials that are no certificate. */
function authorizationOf(auth: string): string | undefined {
  const headers: Readonly<Record<string, string>> = {
    garbageToken: 'Bearer garbage',
    emptyToken: 'Bearer ',
    basic: 'Basic dXNlcjpwYXNz',
    goodToken: 'Bearer good-token',
    denied: 'Bearer denied-token',
    nolog: 'Bearer get-only-token',
  };
  return headers[auth];
}

/** The answers of the runtime in this case. A container whose logs could not be found was removed behind our back. */
function runtimeErrors({ runtime = {}, response }: HTTPCase): NonNullable<HTTPCase['runtime']> {
  if (response.body?.startsWith('unable to retrieve container logs for ') !== true) return runtime;
  return { ContainerStatus: { code: 'NOT_FOUND', message: 'no such container' }, ...runtime };
}

function injectErrors(recorded: HTTPCase, { agent }: ServerUnderTest): () => void {
  const undo = Object.entries(runtimeErrors(recorded)).map(([method, { code, message }]) => {
    const name = `${method[0]?.toLowerCase() ?? ''}${method.slice(1)}` as MethodName;
    return agent.world.runtime.injectError(name, new Refusal(codeOf(code), message), { times: Infinity });
  });
  return () => {
    for (const one of undo) one();
  };
}

const codeOf = (name: string): number => (grpcStatus as unknown as Record<string, number>)[name] ?? grpcStatus.UNKNOWN;

function expectedOf(response: RecordedResponse): object {
  if (response.connectionError !== undefined) return { isAnswered: false };
  const { contentType, shape, json, stillOpenAfterSeconds, headers, body, ...rest } = response;
  return {
    ...rest,
    ...(body !== undefined && (flagzPage(body) ?? { body: inOneState(body) })),
    contentType,
    headers: comparableHeaders(headers),
    isOpen: stillOpenAfterSeconds !== undefined,
    ...(shape && { missing: [], otherwise: [] }),
    ...(json !== undefined && { json }),
  };
}

function answerOf({ status, headers, body, isOpen }: RawAnswer, recorded: RecordedResponse, isHead: boolean): object {
  if (recorded.connectionError !== undefined) return { isAnswered: status !== undefined };
  const { 'content-type': contentType = null, ...others } = headers;
  const isUpgraded = status === 101;
  return {
    status,
    contentType,
    headers: comparableHeaders(others),
    isOpen: isUpgraded ? false : isOpen,
    ...(isUpgraded && { upgraded: true }),
    ...bodyOf(body, recorded, isHead),
    ...(recorded.gunzipped === true && { gunzipped: true }),
  };
}

/** The body in the form in which it was recorded. */
function bodyOf(body: Buffer, recorded: RecordedResponse, isHead: boolean): object {
  const { bodyStartsWith, bodyBase64, bodyKind, bodyEndsWithNewline, shape, json, indented, gunzipped } = recorded;
  const plain = gunzipped === true ? gunzipSync(body) : body;
  const text = plain.toString();
  if (bodyKind !== undefined) {
    return { bodyKind: plain.length > 0 || isHead ? bodyKind : 'empty' };
  }
  if (recorded.translated === true) return { translated: true };
  if (bodyBase64 !== undefined) return { bodyBase64: plain.toString('base64') };
  if (bodyStartsWith !== undefined) return { bodyStartsWith: text.slice(0, bodyStartsWith.length) };
  const recordedFlags = flagzPage(recorded.body ?? '')?.flags;
  const page = flagzPage(text);
  if (recordedFlags && page) return withRecordedFlags(page, recordedFlags);
  if (shape === undefined && json === undefined) return { body: inOneState(text) };
  const value: unknown = JSON.parse(text);
  return {
    ...(shape && differencesOfShape(shape, shapeOf(value))),
    ...(indented !== undefined && { indented: /\n./.test(text) }),
    ...(bodyEndsWithNewline !== undefined && { bodyEndsWithNewline: text.endsWith('\n') }),
    ...(json !== undefined && { json: asRecordedJSON(value, json) }),
  };
}

/** Parts of the configuration that the recorded build could not show are left out. */
function asRecordedJSON(value: unknown, recorded: unknown): unknown {
  const { flags: recordedFlags } = recorded as { flags?: Record<string, string> };
  if (recordedFlags) return withRecordedFlags(value as { flags: Record<string, string> }, recordedFlags);
  const { kubeletconfig } = value as { kubeletconfig?: Record<string, unknown> };
  if (kubeletconfig === undefined) return sorted(value);
  const shown = Object.keys((recorded as { kubeletconfig: object }).kubeletconfig);
  const unshown = ['authentication', 'authorization'].filter((name) => !shown.includes(name));
  const kept = Object.entries(kubeletconfig).filter(([name]) => !unshown.includes(name));
  return sorted({ kubeletconfig: Object.fromEntries(kept) });
}

/** Lists of pods and container statuses in the order of their names. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    const nameOf = (one: unknown): string => {
      const { name, metadata } = one as { name?: string; metadata?: { name: string; namespace: string } };
      return name ?? (metadata === undefined ? '' : `${metadata.namespace}/${metadata.name}`);
    };
    const items = value.map(sorted);
    const isSorted = (one: unknown): boolean =>
      typeof one === 'object' && one !== null && ('metadata' in one || 'restartCount' in one);
    return items.every(isSorted) ? items.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)) : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, sorted(member)]));
}

const comparableHeaders = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !free.has(name)));

/** The order of headers is the library's choice, and so is the name of a client that is not the one who asked. */
function comparableForward(one: object, { translated = false }: RecordedResponse): object {
  const { headers, ...rest } = one as { headers: Record<string, string> };
  const { 'user-agent': agent, ...others } = headers;
  return { ...rest, headers: translated ? others : { ...others, 'user-agent': agent } };
}

/** Calls that were recorded: those that do something in a container. */
const recordedMethods = new Set(['exec', 'attach', 'portForward', 'execSync', 'checkpointContainer']);

function recordedCall({ method, request }: Call): object[] {
  if (!recordedMethods.has(method)) return [];
  return [{ method: `${method[0]?.toUpperCase() ?? ''}${method.slice(1)}`, request: asRecorded(request) }];
}

/** Member names as in the proto, defaults left out. */
function asRecorded(message: object): object {
  return Object.fromEntries(
    Object.entries(message).flatMap(([key, value]: [string, unknown]) => {
      if (value === undefined || value === false || value === '' || value === 0 || value === 0n) return [];
      if (Array.isArray(value) && value.length === 0) return [];
      const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      return [[name, typeof value === 'bigint' ? Number(value) : value]];
    }),
  );
}
