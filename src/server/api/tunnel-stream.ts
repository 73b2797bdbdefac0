import type { Clock } from '../../clock.ts';
import { ownHeaders, pipeBothDirections, upgradeRuntime, without } from './forward-stream.ts';
import type { Call } from './route-table.ts';
import { acceptWebSocket } from './websocket-handshake.ts';

/** Headers of the client's WebSocket. */
const webSocketHeaders: ReadonlySet<string> = new Set([
  ...ownHeaders,
  ...['connection', 'upgrade', 'sec-websocket-key', 'sec-websocket-version', 'sec-websocket-protocol'],
  'sec-websocket-extensions',
]);
const spdyHeaders = [
  ...['Connection', 'Upgrade'],
  ...['Upgrade', 'SPDY/3.1'],
  ...['X-Stream-Protocol-Version', 'portforward.k8s.io'],
];

/**
 * Connects a client's WebSocket, whose messages are bytes of SPDY, with the runtime, which gets them plain. kubelet:
 * portforward/tunneling_handler.go
 */
export async function tunnelStream(
  call: Pick<Call, 'request' | 'response'>,
  url: string,
  { protocol, idleTimeoutMs, clock }: { protocol: string; idleTimeoutMs: number; clock: Pick<Clock, 'after'> },
): Promise<void> {
  const headers = [...without(webSocketHeaders, call.request.rawHeaders), ...spdyHeaders];
  const upgraded = await upgradeRuntime(call, url, { clock, method: 'POST', headers });
  if (upgraded === undefined) return;
  const { runtime, answer } = upgraded;
  const client = await acceptWebSocket(call, protocol, idleTimeoutMs);
  if (client === undefined) {
    runtime.destroy();
    return;
  }
  const { stream } = client;
  stream.once('close', () => runtime.destroy());
  if (answer.head.length > 0) stream.write(answer.head);
  pipeBothDirections(stream, runtime, () => {
    client.close();
  });
}
