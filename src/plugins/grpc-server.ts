import type { Socket } from 'node:net';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type MethodDefinition,
  Server,
  ServerCredentials,
  status,
} from '@grpc/grpc-js';
import { boundedText } from '../text/bounded-text.ts';
import { errorMessage, RpcError } from '../errors.ts';
import { textLimits } from '../text/text-limits.ts';
import type { MessageFns } from './generated/plugin-registration.ts';

/** The functions of a service, by method name. A stream is an iterable. */
export type ServiceFunctions = Readonly<
  Record<string, (request: never, signal: AbortSignal) => Promise<object> | AsyncIterable<object>>
>;

/** A service with a generated definition. */
export interface GrpcService {
  definition: { readonly fullName: string; readonly methods: object };
  functions: ServiceFunctions;
}

/** Bounds the memory for one request. A registration has some hundred bytes. */
const maxRequestBytes = 64 * 1024;
/** Maximum number of concurrent calls on one connection. */
const maxCalls = 10;
/** Time until a connection without a call is closed, in milliseconds. Clients reconnect by themselves. */
const maxIdleMs = 60_000;

interface Method {
  readonly name: string;
  readonly requestType: MessageFns<unknown>;
  readonly responseType: MessageFns<unknown>;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

interface Options {
  /** Defaults to a minute. */
  idleMs?: number | undefined;
}

/**
 * Creates a gRPC server without a listener. If a function throws, the call fails with the code of its `RpcError`, or
 * with UNKNOWN, as servers in Go do.
 */
export function grpcServer(
  services: readonly GrpcService[],
  { idleMs = maxIdleMs }: Options = {},
): { serve: (socket: Socket) => void; close: () => void } {
  const server = new Server({
    'grpc.max_receive_message_length': maxRequestBytes,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': maxCalls,
    'grpc.max_connection_idle_ms': idleMs,
    'grpc.enable_channelz': 0,
  });
  for (const { definition, functions } of services) {
    const methods = Object.entries(definition.methods as Readonly<Record<string, Method>>);
    server.addService(
      Object.fromEntries(methods.map(([key, method]) => [key, wireOf(definition.fullName, key, method)])),
      Object.fromEntries(
        methods.map(([key, { name, responseStream }]) => [
          key,
          responseStream ? streamHandler(functions, key, name) : unaryHandler(functions, key, name),
        ]),
      ),
    );
  }
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  return {
    serve: (socket) => {
      injector.injectConnection(socket);
    },
    close: () => {
      server.forceShutdown();
    },
  };
}

function unaryHandler(functions: ServiceFunctions, key: string, name: string): handleUnaryCall<unknown, unknown> {
  return (call, callback) => {
    const answer = async (): Promise<unknown> =>
      functionOf(functions, key, name)(call.request as never, signalOf(call));
    answer().then(
      (response) => {
        callback(null, response);
      },
      (error: unknown) => {
        callback(statusOf(error));
      },
    );
  };
}

function streamHandler(
  functions: ServiceFunctions,
  key: string,
  name: string,
): handleServerStreamingCall<unknown, unknown> {
  return (call) => {
    const send = async (): Promise<void> => {
      const messages = functionOf(functions, key, name)(call.request as never, signalOf(call)) as AsyncIterable<object>;
      for await (const message of messages) call.write(message);
    };
    send().then(
      () => {
        call.end();
      },
      (error: unknown) => {
        call.emit('error', statusOf(error));
      },
    );
  };
}

function functionOf(functions: ServiceFunctions, key: string, name: string): ServiceFunctions[string] {
  const found = functions[key];
  if (found === undefined) throw new RpcError(name, status.UNIMPLEMENTED, `unknown method ${name}`);
  return found;
}

/** Aborted when the caller cancels, its deadline passes or the connection is lost. */
function signalOf(call: { on(event: 'cancelled', listener: () => void): unknown }): AbortSignal {
  const controller = new AbortController();
  call.on('cancelled', () => {
    controller.abort(new Error('the caller has cancelled'));
  });
  return controller.signal;
}

/** An error that quotes a long request would not fit in the response headers, and the caller would wait forever. */
function statusOf(error: unknown): { code: number; details: string } {
  const details = boundedText(errorMessage(error), textLimits.message);
  return { code: error instanceof RpcError ? error.code : status.UNKNOWN, details };
}

function wireOf(service: string, key: string, method: Method): MethodDefinition<unknown, unknown> {
  const request = codecOf(method.requestType);
  const response = codecOf(method.responseType);
  return {
    path: `/${service}/${method.name}`,
    originalName: key,
    requestStream: method.requestStream,
    responseStream: method.responseStream,
    requestSerialize: request.serialize,
    requestDeserialize: request.deserialize,
    responseSerialize: response.serialize,
    responseDeserialize: response.deserialize,
  };
}

const codecOf = (type: MessageFns<unknown>) => ({
  serialize: (message: unknown): Buffer => Buffer.from(type.encode(type.fromPartial(message as object)).finish()),
  deserialize: (bytes: Buffer): unknown => type.decode(bytes),
});
