import type { Channel, Definition } from './grpc-channel.ts';
import type { CallOptions, Service } from './service.ts';

/** Makes the functions of a service, one for each method of its generated definition. */
export function grpcService<D extends { methods: object }>(
  channel: Channel,
  definition: D,
  deadlineMsOf: (method: string, request: object) => number,
): Service<D> {
  // Safe cast: a call only encodes and decodes messages, which the definition types one by one.
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
