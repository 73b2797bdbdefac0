import { RpcError, errorMessage } from '../../src/errors.ts';
import { RuntimeServiceDefinition, type ExecSyncResponse, type MessageFns } from '../../src/cri/generated/cri.ts';
import type { Channel, Definition } from '../../src/cri/grpc-channel.ts';
import type { CallOptions } from '../../src/cri/service.ts';
import { codes } from './fake-calls.ts';
import type { FakeRuntime } from './fake-runtime.ts';

type Functions = Record<string, (request: unknown, options: CallOptions) => Promise<unknown> & AsyncIterable<unknown>>;

/**
 * A channel to a FakeRuntime in this process. As over a socket, each message is encoded and decoded, so that neither
 * side sees later changes by the other. Deadlines follow the FakeRuntime's clock. Two things differ from a socket: long
 * ExecSync responses are not cut, and closing the channel interrupts nothing.
 */
export function directChannel(runtime: FakeRuntime): Channel {
  // A test may replace a method of the runtime at any time.
  const functions = runtime as unknown as Functions;
  const unary: Channel['unary'] = async (definition, method, request, options) => {
    const { name, requestType, responseType } = methodOf(definition, method);
    const sent = copyOf(requestType, request);
    try {
      return copyOf(responseType, await functions[method]?.(sent, options));
    } catch (error) {
      throw asReceived(name, error, options);
    }
  };
  return {
    unary,
    async *stream(definition, method, request, options) {
      const { name, requestType, responseType } = methodOf(definition, method);
      try {
        for await (const message of functions[method]?.(copyOf(requestType, request), options) ?? [])
          yield copyOf(responseType, message);
      } catch (error) {
        throw asReceived(name, error, options);
      }
    },
    execSync: (request = {}, options = {}) =>
      unary(definitionOf(RuntimeServiceDefinition), 'execSync', request, options) as Promise<ExecSyncResponse>,
    close: () => undefined,
  };
}

function methodOf({ fullName, methods }: Definition, method: string): Definition['methods'][string] {
  const found = methods[method];
  if (found === undefined) throw new Error(`${fullName} has no method ${method}`);
  return found;
}

/** The generated definition has a separate type for every message. */
const definitionOf = (definition: object): Definition => definition as Definition;

const copyOf = (type: MessageFns<unknown>, message: unknown): unknown =>
  type.decode(type.encode(type.fromPartial(message as object)).finish());

/** Returns the error as a client receives it: the reason of its signal, or an RpcError. */
function asReceived(method: string, error: unknown, { signal }: CallOptions): unknown {
  if (signal?.aborted === true || error instanceof RpcError) return error;
  return new RpcError(method, codes.unknown, errorMessage(error));
}
