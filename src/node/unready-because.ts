import { openChannel } from '../cri/grpc-channel.ts';
import { grpcRuntimeService } from '../cri/grpc-runtime-service.ts';
import { ownedRuntime } from './owned-runtime.ts';

/** Deadline of a call in milliseconds. */
const queryMs = 5000;

/**
 * Why the runtime at an endpoint cannot run pods with a network: it has none to give. Returns undefined if it has one,
 * if it has pods of this root-dir, which must stay where they are, or if it does not answer.
 */
export async function unreadyBecause(endpoint: string, rootDir: string): Promise<string | undefined> {
  const channel = openChannel(endpoint);
  try {
    const runtime = grpcRuntimeService(channel, queryMs);
    const { status } = await runtime.status({});
    const network = status?.conditions.find(({ type }) => type === 'NetworkReady');
    if (network === undefined || network.status) return undefined;
    const signal = AbortSignal.timeout(queryMs);
    const { runtime: own } = await ownedRuntime({ rootDir, makesPods: false, signal }, runtime);
    const { items } = await own.listPodSandbox({});
    return items.length > 0 ? undefined : network.message || network.reason || 'its network is not ready';
  } catch {
    // Only a runtime that says so is passed over. The connection to this one reports what is wrong.
    return undefined;
  } finally {
    channel.close();
  }
}
