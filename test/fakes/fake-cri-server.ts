import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import {
  Server,
  ServerCredentials,
  status,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type MethodDefinition,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { errorMessage, RpcError } from '../../src/errors.ts';
import { ImageServiceDefinition, RuntimeServiceDefinition, type MessageFns } from '../../src/cri/generated/cri.ts';
import type { CallOptions } from '../../src/cri/service.ts';
import type { FakeRuntime } from './fake-runtime.ts';

/** 16 MiB, as containerd and CRI-O allow. */
const maxMessageBytes = 16 * 1024 * 1024;

type Unary = (request: unknown, options: CallOptions) => Promise<unknown>;
type Streaming = (request: unknown, options: CallOptions) => AsyncIterable<unknown>;
type Functions = Record<string, Unary | Streaming>;

/**
 * Serves a FakeRuntime on a unix socket, as a runtime does. This is only the wire: state is in the FakeRuntime, so a
 * server that stops and starts again is a runtime whose daemon restarted.
 */
export class FakeCriServer {
  readonly #functions: Functions;
  #close: (() => void) | undefined;
  #paused: { readonly over: Promise<void>; readonly end: () => void } | undefined;

  constructor(runtime: FakeRuntime) {
    this.#functions = runtime as unknown as Functions;
  }

  async start({ socketPath }: { socketPath: string }): Promise<void> {
    // A server that was killed leaves its socket behind.
    await rm(socketPath, { force: true });
    const grpc = new Server({ 'grpc.max_receive_message_length': maxMessageBytes, 'grpc.max_send_message_length': -1 });
    for (const definition of [RuntimeServiceDefinition, ImageServiceDefinition]) {
      grpc.addService(wireOf(definition), this.#handlersOf(definition));
    }
    // We manage the sockets, because a gRPC server that shuts down notifies its clients, which a crashed one does not.
    const sockets = new Set<Socket>();
    const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
    const listener = createServer((socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      injector.injectConnection(socket);
    });
    this.#close = () => {
      listener.close();
      // Delayed, because Node 20 aborts if a connection closes while Node reads from it:
      // github.com/nodejs/node/issues/64850.
      setImmediate(() => {
        for (const socket of sockets) socket.destroy();
        grpc.forceShutdown();
      });
    };
    listener.listen(socketPath);
    await once(listener, 'listening');
  }

  /** Drops every connection and call at once, as a crash does. */
  stop(): void {
    this.#close?.();
    this.#close = undefined;
    this.resume();
  }

  /** From now on, accepts calls but neither executes nor answers them, like a runtime that hangs. */
  pause(): void {
    if (this.#paused !== undefined) return;
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#paused = { over, end };
  }

  /** Executes the calls that arrived while it was paused, and all later ones. */
  resume(): void {
    this.#paused?.end();
    this.#paused = undefined;
  }

  #handlersOf({ methods }: { methods: Record<string, { responseStream: boolean }> }): UntypedServiceImplementation {
    const handlers: UntypedServiceImplementation = {};
    for (const [name, { responseStream }] of Object.entries(methods)) {
      handlers[name] = responseStream ? this.#streaming(name) : this.#unary(name);
    }
    return handlers;
  }

  #unary(name: string): handleUnaryCall<unknown, unknown> {
    return (call, callback) => {
      const signal = signalOf(call);
      const answer = async (): Promise<unknown> => {
        await this.#paused?.over;
        signal.throwIfAborted();
        return (this.#functions[name] as Unary)(call.request, { signal });
      };
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

  #streaming(name: string): handleServerStreamingCall<unknown, unknown> {
    return (call) => {
      const signal = signalOf(call);
      const send = async (): Promise<void> => {
        await this.#paused?.over;
        for await (const message of (this.#functions[name] as Streaming)(call.request, { signal })) call.write(message);
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
}

/** Aborted when the caller cancels, its deadline passes or the connection is lost. */
function signalOf(call: { on(event: 'cancelled', listener: () => void): unknown }): AbortSignal {
  const controller = new AbortController();
  call.on('cancelled', () => {
    controller.abort();
  });
  return controller.signal;
}

function statusOf(error: unknown): { code: number; details: string } {
  return { code: error instanceof RpcError ? error.code : status.UNKNOWN, details: errorMessage(error) };
}

interface Definition {
  readonly fullName: string;
  readonly methods: Record<string, Method>;
}
interface Method {
  readonly name: string;
  readonly requestType: unknown;
  readonly responseType: unknown;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

function wireOf({ fullName, methods }: Definition): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(methods).map(([key, { name, requestType, responseType, requestStream, responseStream }]) => {
      const request = codecOf(requestType);
      const response = codecOf(responseType);
      const method: MethodDefinition<unknown, unknown> = {
        path: `/${fullName}/${name}`,
        originalName: key,
        requestStream,
        responseStream,
        requestSerialize: request.serialize,
        requestDeserialize: request.deserialize,
        responseSerialize: response.serialize,
        responseDeserialize: response.deserialize,
      };
      return [key, method];
    }),
  );
}

function codecOf(type: unknown) {
  // Every message in the definitions is generated with these functions; the definitions have a separate type for each.
  const messages = type as MessageFns<unknown>;
  return {
    serialize: (message: unknown): Buffer => Buffer.from(messages.encode(message).finish()),
    deserialize: (bytes: Buffer): unknown => messages.decode(bytes),
  };
}
