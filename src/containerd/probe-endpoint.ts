import { isUnimplemented } from '../cri/errors.ts';
import { connectOnce, openChannel } from '../cri/grpc-channel.ts';
import { grpcRuntimeService } from '../cri/grpc-runtime-service.ts';
import { errorMessage, hasCode } from '../errors.ts';

/** The result of a probe. `absent`: there is no socket. `refused`: nothing listens on the socket. */
export type ProbeResult =
  | { readonly kind: 'answers'; readonly runtimeName: string; readonly runtimeVersion: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'denied'; readonly error: unknown }
  | { readonly kind: 'no-cri'; readonly error: unknown }
  | { readonly kind: 'failed'; readonly reason: string; readonly error: unknown };

/** A runtime on the same machine answers in milliseconds, or in seconds if the machine is small and busy. */
const probeTimeoutMs = 5000;

/** Asks an endpoint (`unix:///path`) for its CRI version. Never rejects. */
export async function probeEndpoint(endpoint: string, deadlineMs = probeTimeoutMs): Promise<ProbeResult> {
  try {
    // Connects first, because gRPC reports every connection failure as "unavailable".
    await connectOnce(endpoint.replace(/^unix:\/\//, ''));
  } catch (error) {
    return connectFailure(error);
  }
  const channel = openChannel(endpoint);
  try {
    const { runtimeName, runtimeVersion } = await grpcRuntimeService(channel).version({}, { deadlineMs });
    return { kind: 'answers', runtimeName, runtimeVersion };
  } catch (error) {
    return isUnimplemented(error) ? { kind: 'no-cri', error } : { kind: 'failed', reason: errorMessage(error), error };
  } finally {
    channel.close();
  }
}

function connectFailure(error: unknown): ProbeResult {
  if (hasCode(error, 'ENOENT', 'ENOTDIR')) return { kind: 'absent' };
  // A file that is not a socket refuses connections, too.
  if (hasCode(error, 'ECONNREFUSED', 'ENOTSOCK')) return { kind: 'refused' };
  if (hasCode(error, 'EACCES', 'EPERM')) return { kind: 'denied', error };
  return { kind: 'failed', reason: errorMessage(error), error };
}
