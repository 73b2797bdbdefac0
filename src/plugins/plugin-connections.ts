import type { Clock } from '../clock.ts';
import { openReadyChannel } from '../cri/grpc-channel.ts';
import { grpcService } from '../cri/grpc-service.ts';
import { NodeDefinition } from './generated/csi.ts';
import { DevicePluginDefinition } from './generated/device-plugin.ts';
import { RegistrationDefinition } from './generated/plugin-registration.ts';
import type { Connected, CSINode, DevicePlugin, PluginRegistration } from './types.ts';

/** kubelet: operation_generator.go dialTimeoutDuration, devicemanager/plugin/v1beta1/client.go dial */
const timeoutMs = 10_000;
/** Timeout of GetInfo. The caller limits the notification. kubelet: operation_generator.go */
const infoTimeoutMs = 1000;
/** Bounds the memory for one message: a plugin that introduces itself, thousands of devices, a driver's response. */
const maxBytes = { info: 64 * 1024, devices: 1024 * 1024, answer: 1024 * 1024 };

/** Connects to a socket in plugins_registry. Rejects with a `TimeoutError` after 10 s. */
export async function connectRegistration(socketPath: string, clock: Clock): Promise<Connected<PluginRegistration>> {
  const channel = await openReadyChannel(socketPath, {
    timeoutMs,
    clock,
    'grpc.max_receive_message_length': maxBytes.info,
  });
  return { service: grpcService(channel, RegistrationDefinition, () => infoTimeoutMs), close: channel.close };
}

/** Connects to a device plugin. Rejects with a `TimeoutError` after 10 s. */
export async function connectDevicePlugin(socketPath: string, clock: Clock): Promise<Connected<DevicePlugin>> {
  const limit = { 'grpc.max_receive_message_length': maxBytes.devices };
  const channel = await openReadyChannel(socketPath, { timeoutMs, clock, ...limit });
  return { service: grpcService(channel, DevicePluginDefinition, () => timeoutMs), close: channel.close };
}

/** Timeout of every call to a CSI driver. kubelet: pkg/volume/csi/csi_plugin.go csiTimeout */
const csiTimeoutMs = 120_000;

/** Connects to the socket of a CSI driver. Rejects with a `TimeoutError` after 10 s. */
export async function connectCSINode(socketPath: string, clock: Clock): Promise<Connected<CSINode>> {
  const channel = await openReadyChannel(socketPath, {
    timeoutMs,
    clock,
    'grpc.max_receive_message_length': maxBytes.answer,
  });
  return { service: grpcService(channel, NodeDefinition, () => csiTimeoutMs), close: channel.close };
}
