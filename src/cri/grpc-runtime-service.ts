import { RuntimeServiceDefinition } from './generated/cri.ts';
import type { Channel } from './grpc-channel.ts';
import { defaultRequestTimeoutMs, grpcService } from './grpc-service.ts';
import type { RuntimeService } from './runtime-service.ts';

/**
 * RuntimeService over a channel, with the kubelet's deadlines. RunPodSandbox may take twice the request timeout.
 * StopContainer and ExecSync add their own timeout. ExecSync without a timeout and event streams have no deadline.
 * kubelet: cri-client remote_runtime.go
 */
export function grpcRuntimeService(channel: Channel, requestTimeoutMs = defaultRequestTimeoutMs): RuntimeService {
  const service = grpcService(channel, RuntimeServiceDefinition, (method, request) =>
    deadlineOf(method, request, requestTimeoutMs),
  );
  return {
    ...service,
    execSync: (request = {}, options = {}) =>
      channel.execSync(request, { deadlineMs: deadlineOf('execSync', request, requestTimeoutMs), ...options }),
  };
}

/** Returns the deadline of a call in milliseconds. */
function deadlineOf(method: string, request: { timeout?: number | bigint | string }, requestTimeoutMs: number): number {
  const timeoutMs = Number(request.timeout ?? 0) * 1000;
  switch (method) {
    case 'runPodSandbox':
      return 2 * requestTimeoutMs;
    case 'stopContainer':
      return requestTimeoutMs + timeoutMs;
    case 'execSync':
      return timeoutMs === 0 ? Infinity : requestTimeoutMs + timeoutMs;
    case 'getContainerEvents':
      return Infinity;
    default:
      return requestTimeoutMs;
  }
}
