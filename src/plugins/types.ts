/** The plugin messages and services that the engine uses. */
import type { Service } from '../cri/service.ts';
import type { NodeDefinition } from './generated/csi.ts';
import type { ContainerAllocateResponse, DevicePluginDefinition, RegisterRequest } from './generated/device-plugin.ts';
import type { RegistrationDefinition } from './generated/plugin-registration.ts';

export type {
  ContainerAllocateResponse,
  DevicePluginOptions,
  ListAndWatchResponse,
  RegisterRequest,
} from './generated/device-plugin.ts';
import type {
  AllocatableResourcesResponse,
  DeepPartial,
  GetPodResourcesRequest,
  PodResources as PodResourcesMessage,
} from './generated/pod-resources.ts';

/** The service of a plugin that introduces itself through a socket in plugins_registry. */
export type PluginRegistration = Service<RegistrationDefinition>;

/** Converts messages to bytes and back. */
export interface MessageCodec<M> {
  encode: (message: M) => Uint8Array;
  /** Throws an `Error` if the bytes are not a message. */
  decode: (bytes: Uint8Array) => M;
}

/** The service of a device plugin. */
export type DevicePlugin = Service<DevicePluginDefinition>;

/** The node service of a CSI driver. */
export type CSINode = Service<NodeDefinition>;

/** A service on a separate connection. */
export interface Connected<S> {
  service: S;
  /** Aborts calls in flight. */
  close: () => void;
}

/** The node's sockets for plugins and their clients. Each method rejects with the system error. */
interface PluginServers {
  /** Serves the registration of device plugins. If `register` rejects, the plugin receives the error. */
  serveDeviceRegistration: (
    socketPath: string,
    register: (request: RegisterRequest) => Promise<void>,
  ) => Promise<UnixServer>;
  /** Serves the resources of pods, with a rate limit. */
  servePodResources: (socketPath: string, lister: PodResourcesLister) => Promise<UnixServer>;
}

/** The calls of monitoring agents, which receive thrown errors. */
export interface PodResourcesLister {
  list: () => PodResources[];
  getAllocatableResources: () => DeepPartial<AllocatableResourcesResponse>;
  get: (request: GetPodResourcesRequest) => PodResources;
}

/** A pod with the resources of its containers. */
export type PodResources = DeepPartial<PodResourcesMessage>;

export interface UnixServer {
  close: () => void;
}

/** Connections to plugins, and sockets for them. Connecting rejects with a `TimeoutError` after 10 s. */
export interface Plugins extends PluginServers {
  connectRegistration: (socketPath: string) => Promise<Connected<PluginRegistration>>;
  connectCSINode: (socketPath: string) => Promise<Connected<CSINode>>;
  connectDevicePlugin: (socketPath: string) => Promise<Connected<DevicePlugin>>;
  /** Codec for the responses that a checkpoint stores. */
  allocateResponse: MessageCodec<ContainerAllocateResponse>;
}
