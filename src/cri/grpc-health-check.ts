import { isLocalConnectFailure, RpcError } from '../errors.ts';
import { connectFailure, isDeadlineExceeded, isUnimplemented } from './errors.ts';
import { HealthDefinition } from './generated/health.ts';
import { openOwnChannel } from './grpc-channel.ts';
import { grpcService } from './grpc-service.ts';

/** Bounds the response: a status is a number, but a container may send anything. */
const maxAnswerBytes = 4096;

/** One health check of a gRPC server. */
export interface HealthCheck {
  host: string;
  port: number;
  /** Name of the service; empty for the whole server. */
  service: string;
  timeoutMs: number;
  userAgent: string;
}

/**
 * Checks the health of a gRPC service, without TLS. Returns undefined if it is serving, else the reason. Rejects if
 * this machine could not open a connection. kubelet: pkg/probe/grpc/grpc.go Probe
 */
export async function grpcHealthCheck(check: HealthCheck): Promise<string | undefined> {
  const { host, port, service, timeoutMs, userAgent } = check;
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const channel = openOwnChannel(`dns:${address}`, {
    'grpc.max_receive_message_length': maxAnswerBytes,
    'grpc.primary_user_agent': userAgent,
    'grpc.default_authority': address,
  });
  try {
    const health = grpcService(channel, HealthDefinition, () => timeoutMs);
    const { status } = await health.check({ service });
    return status === 'SERVING' ? undefined : `service unhealthy (responded with "${status}")`;
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    if (isUnimplemented(error)) return `this server does not implement the grpc health protocol: ${error.message}`;
    if (isDeadlineExceeded(error)) return `timeout: health rpc did not complete within ${timeoutMs / 1000}s`;
    const connection = connectFailure(error.message);
    if (connection !== undefined) {
      if (isLocalConnectFailure(systemError(connection))) throw new Error(connection, { cause: error });
      return `error: failed to connect service at "${address}": ${connection}`;
    }
    return `error: health rpc probe failed: ${error.message}`;
  } finally {
    channel.close();
  }
}

/** Rebuilds the error from its text, because @grpc/grpc-js keeps nothing else. */
function systemError(text: string): Error {
  const [, code] = /^connect (E[A-Z]+)\b/.exec(text) ?? [];
  return Object.assign(new Error(text), { code });
}
