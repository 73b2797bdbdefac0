import type { Channel, Definition } from './grpc-channel.ts';
import type { CallOptions, Service } from './service.ts';

/** Creates the functions of a service, one per method of its generated definition. */
export function grpcService<D extends { methods: object }>(
  channel: Channel,
  definition: D,
  deadlineMsOf: (method: string, request: object) => number,
): Service<D> {
  // This cast is safe: a call only encodes and decodes messages, and the definition types each method.
  const { fullName, methods } = definition as unknown as Definition & {
    methods: Record<string, { responseStream: boolean }>;
  };
  const service: Record<string, unknown> = {};
  for (const [method, { responseStream }] of Object.entries(methods)) {
    service[method] = (request: object = {}, options: CallOptions = {}) => {
      const bounded = { ...options, deadlineMs: options.deadlineMs ?? deadlineMsOf(method, request) };
      return responseStream
        ? channel.stream({ fullName, methods }, method, request, bounded)
        : channel.unary({ fullName, methods }, method, request, bounded);
    };
  }
  return service as Service<D>;
}

/** Default deadline of a call to the runtime, in milliseconds. kubelet: runtimeRequestTimeout */
export const defaultRequestTimeoutMs = 120_000;
