import { openReadyChannel } from '../cri/grpc-channel.ts';
import { grpcService } from '../cri/grpc-service.ts';
import { DevicePluginDefinition } from './generated/device-plugin.ts';
import { RegistrationDefinition } from './generated/plugin-registration.ts';
import type { Connected, DevicePlugin, PluginRegistration } from './types.ts';

/** kubelet: operation_generator.go dialTimeoutDuration, devicemanager/plugin/v1beta1/client.go dial */
const timeoutMs = 10_000;
/** Of GetInfo. The caller sets the limit of the notification. kubelet: operation_generator.go */
const infoTimeoutMs = 1000;
/** Bounds the memory that one message takes: a plugin that presents itself, and a list of thousands of devices. */
const maxBytes = { info: 64 * 1024, devices: 1024 * 1024 };

/** Connects to a socket in plugins_registry. Rejects with a `TimeoutError` after 10 s. */
export async function connectRegistration(socketPath: string): Promise<Connected<PluginRegistration>> {
  const channel = await openReadyChannel(socketPath, { timeoutMs, 'grpc.max_receive_message_length': maxBytes.info });
  return { service: grpcService(channel, RegistrationDefinition, () => infoTimeoutMs), close: channel.close };
}

/** Connects to a device plugin. Rejects with a `TimeoutError` after 10 s. */
export async function connectDevicePlugin(socketPath: string): Promise<Connected<DevicePlugin>> {
  const limit = { 'grpc.max_receive_message_length': maxBytes.devices };
  const channel = await openReadyChannel(socketPath, { timeoutMs, ...limit });
  return { service: grpcService(channel, DevicePluginDefinition, () => timeoutMs), close: channel.close };
}
