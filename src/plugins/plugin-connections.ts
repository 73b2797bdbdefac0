import { openReadyChannel } from '../cri/grpc-channel.ts';
import { grpcService } from '../cri/grpc-service.ts';
import { RegistrationDefinition } from './generated/plugin-registration.ts';
import type { Connected, PluginRegistration } from './types.ts';

/** kubelet: operation_generator.go dialTimeoutDuration */
const timeoutMs = 10_000;
/** Of GetInfo. kubelet: operation_generator.go, 1 s; of the notification 5 s, which the caller sets. */
const infoTimeoutMs = 1000;
/** Bounds the memory that an answer takes. A name, a path and a list of versions are far shorter. */
const maxInfoBytes = 64 * 1024;

/** Connects to a socket in plugins_registry. Rejects with a `TimeoutError` after 10 s. */
export async function connectRegistration(socketPath: string): Promise<Connected<PluginRegistration>> {
  const channel = await openReadyChannel(socketPath, { timeoutMs, 'grpc.max_receive_message_length': maxInfoBytes });
  return {
    service: grpcService(channel, RegistrationDefinition, () => infoTimeoutMs),
    close: () => {
      channel.close();
    },
  };
}
