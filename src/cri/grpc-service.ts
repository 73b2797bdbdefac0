import type { Channel, Definition } from './grpc-channel.ts';
import type { CallOptions, Service } from './service.ts';

/** Makes the functions of a service from its generated definition, one per method. */
export function grpcService<D extends { methods: object }>(
  channel: Channel,
  definition: D,
  deadlineMsOf: (method: string, request: object) => number,
): Service<D> {
  // The generated definition types every message by itself; a call only needs to encode and decode it.
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

/** Milliseconds that a call to the runtime may take, where nothing else is said. kubelet: runtimeRequestTimeout */
export const defaultRequestTimeoutMs = 120_000;
