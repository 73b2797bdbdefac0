import { connect } from 'node:net';
import {
  type ChannelCredentials,
  type ChannelInterface,
  Client,
  type ClientOptions,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Clock } from '../clock.ts';
import { RpcError } from '../errors.ts';
import { withTimeout, TimeoutError } from '../flow/with-timeout.ts';
import { ExecSyncClient } from './exec-sync.ts';
import type { MessageFns } from './generated/cri.ts';
import { OwnConnections } from './own-connections.ts';
import type { RuntimeService } from './runtime-service.ts';
import type { CallOptions } from './service.ts';

/** 16 MiB, like the kubelet. kubelet: cri-client remote_runtime.go maxMsgSize */
const maxMessageBytes = 16 * 1024 * 1024;

/**
 * Reconnects after 100 ms and then every 500 ms, because a local socket costs nothing. The kubelet waits up to 3 s
 * (cri-client remote_runtime.go).
 */
const channelOptions: ClientOptions = {
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.max_send_message_length': maxMessageBytes,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 500,
  'grpc.default_authority': 'localhost',
  // A server on this node needs no proxy, no service config and no statistics.
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_channelz': 0,
};

/**
 * For an untrusted server: gRPC's own delays, which the kubelet uses too. Each attempt needs 40 KB of memory. See
 * https://github.com/grpc/grpc/blob/master/doc/connection-backoff.md
 */
const untrustedOptions: ClientOptions = {
  'grpc.initial_reconnect_backoff_ms': 1000,
  'grpc.max_reconnect_backoff_ms': 120_000,
};

/** The fields of a generated method definition that a call needs. */
interface Method {
  readonly name: string;
  readonly requestType: MessageFns<unknown>;
  readonly responseType: MessageFns<unknown>;
}

export interface Definition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, Method>>;
}

/**
 * A connection to one CRI socket. Connects at the first call, and reconnects with back-off after the connection is
 * lost.
 */
export interface Channel {
  unary(definition: Definition, method: string, request: object, options: CallOptions): Promise<unknown>;
  stream(definition: Definition, method: string, request: object, options: CallOptions): AsyncIterable<unknown>;
  /** ExecSync, whose response is cut to size as it arrives. */
  execSync: RuntimeService['execSync'];
  close: () => void;
}

/**
 * `endpoint` is `unix:///path` or a bare path. `options` override our defaults. Channels to one endpoint share a
 * connection.
 */
export function openChannel(endpoint: string, options: ClientOptions = {}): Channel {
  return channelOf(newClient(endpoint, credentials.createInsecure(), options), endpoint);
}

/**
 * Opens a channel with a separate connection. Closing the channel closes the connection as soon as no call is in
 * flight.
 */
export function openOwnChannel(endpoint: string, options: ClientOptions = {}): Channel {
  const connections = new OwnConnections();
  return endingChannel(newClient(endpoint, connections, { ...untrustedOptions, ...options }), connections, endpoint);
}

const targetOf = (endpoint: string): string => (endpoint.startsWith('/') ? `unix://${endpoint}` : endpoint);

function newClient(endpoint: string, ofChannel: ChannelCredentials, options: ClientOptions): Client {
  return new Client(targetOf(endpoint), ofChannel, { ...channelOptions, ...options });
}

function channelOf(client: Client, endpoint: string): Channel {
  const exec = new ExecSyncClient(targetOf(endpoint));
  return {
    unary: (definition, method, request, options) => unaryCall(client, definition, method, request, options),
    stream: (definition, method, request, options) => streamCall(client, definition, method, request, options),
    execSync: (request, options) => exec.call(request, options),
    close: () => {
      client.close();
      exec.close();
    },
  };
}

function endingChannel(client: Client, connections: OwnConnections, endpoint: string): Channel {
  const channel = channelOf(client, endpoint);
  let calls = 0;
  let isClosed = false;
  const endIfUnused = (): void => {
    if (isClosed && calls === 0) connections.end();
  };
  const begin = (): (() => void) => {
    calls += 1;
    return () => {
      calls -= 1;
      endIfUnused();
    };
  };
  return {
    ...channel,
    unary: (...call) => channel.unary(...call).finally(begin()),
    async *stream(...call) {
      const end = begin();
      try {
        yield* channel.stream(...call);
      } finally {
        end();
      }
    },
    close: () => {
      channel.close();
      isClosed = true;
      endIfUnused();
    },
  };
}

/** Like `openOwnChannel`, but resolves once it is connected. Rejects with a `TimeoutError` after `timeoutMs`. */
export async function openReadyChannel(
  endpoint: string,
  { timeoutMs, clock, ...options }: ClientOptions & { timeoutMs: number; clock: Clock },
): Promise<Channel> {
  const connections = new OwnConnections();
  const client = newClient(endpoint, connections, { ...untrustedOptions, ...options });
  const late = new AbortController();
  try {
    await withTimeout(clock, timeoutMs, untilReady(client.getChannel(), late.signal));
  } catch {
    late.abort();
    client.close();
    connections.end();
    throw new TimeoutError('context deadline exceeded');
  }
  return endingChannel(client, connections, endpoint);
}

/**
 * Resolves once connected, and never after the signal is aborted. `Client.waitForReady` would make a closed channel
 * reconnect forever.
 */
function untilReady(channel: ChannelInterface, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (signal.aborted) return;
      const state = channel.getConnectivityState(true);
      if (state === connectivityState.READY) resolve();
      else channel.watchConnectivityState(state, Infinity, check);
    };
    check();
  });
}

function unaryCall(
  client: Client,
  definition: Definition,
  method: string,
  request: object,
  options: CallOptions,
): Promise<unknown> {
  const { name, requestType, responseType } = methodOf(definition, method);
  return new Promise((resolve, reject) => {
    options.signal?.throwIfAborted();
    const call = client.makeUnaryRequest(
      `/${definition.fullName}/${name}`,
      encoder(requestType),
      decoder(responseType),
      request,
      metadataOf(options),
      { deadline: deadlineOf(options) },
      (error, response) => {
        options.signal?.removeEventListener('abort', abort);
        if (error === null) resolve(response);
        else if (options.signal?.aborted === true) reject(options.signal.reason as Error);
        else reject(rpcError(name, error));
      },
    );
    const abort = (): void => {
      call.cancel();
    };
    options.signal?.addEventListener('abort', abort, { once: true });
  });
}

async function* streamCall(
  client: Client,
  definition: Definition,
  method: string,
  request: object,
  options: CallOptions,
): AsyncGenerator<unknown, void> {
  const { name, requestType, responseType } = methodOf(definition, method);
  options.signal?.throwIfAborted();
  const call = client.makeServerStreamRequest(
    `/${definition.fullName}/${name}`,
    encoder(requestType),
    decoder(responseType),
    request,
    metadataOf(options),
    { deadline: deadlineOf(options) },
  );
  const abort = (): void => {
    call.cancel();
  };
  options.signal?.addEventListener('abort', abort, { once: true });
  try {
    for await (const message of call) yield message;
  } catch (error) {
    options.signal?.throwIfAborted();
    throw rpcError(name, error as ServiceError);
  } finally {
    options.signal?.removeEventListener('abort', abort);
    call.cancel();
  }
}

function methodOf(definition: Definition, method: string): Method {
  const found = definition.methods[method];
  if (found === undefined) throw new Error(`${definition.fullName} has no method ${method}`);
  return found;
}

const encoder =
  (type: MessageFns<unknown>) =>
  (request: object): Buffer => {
    const bytes = type.encode(type.fromPartial(request)).finish();
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };

const decoder =
  (type: MessageFns<unknown>) =>
  (bytes: Buffer): unknown =>
    type.decode(bytes);

function metadataOf({ metadata: entries = {} }: CallOptions): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(entries)) metadata.set(key, value);
  return metadata;
}

function deadlineOf(options: CallOptions): number {
  return options.deadlineMs === undefined || options.deadlineMs === Infinity
    ? Infinity
    : Date.now() + options.deadlineMs;
}

function rpcError(method: string, error: ServiceError): RpcError {
  return new RpcError(method, error.code, error.details === '' ? error.message : error.details, { cause: error });
}

/** Connects to the socket once and disconnects. Rejects if that fails. */
export function connectOnce(socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath, () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}
