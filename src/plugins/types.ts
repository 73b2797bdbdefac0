/** The messages and services of plugins that the engine uses. */
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

/** The service of a plugin that presents itself by a socket in plugins_registry. */
export type PluginRegistration = Service<RegistrationDefinition>;

/** Messages as bytes. */
export interface MessageCodec<M> {
  encode: (message: M) => Uint8Array;
  /** Throws an `Error` for bytes that are no message. */
  decode: (bytes: Uint8Array) => M;
}

/** The service of a device plugin. */
export type DevicePlugin = Service<DevicePluginDefinition>;

/** The service of a CSI driver for this node. */
export type CSINode = Service<NodeDefinition>;

/** A service over its own connection. */
export interface Connected<S> {
  service: S;
  /** Ends calls under way. */
  close: () => void;
}

/** Sockets of the node's own for plugins and their users. Each rejects with the error of the system. */
interface PluginServers {
  /** Serves the registration of device plugins. A rejection of `register` is the answer. */
  serveDeviceRegistration: (
    socketPath: string,
    register: (request: RegisterRequest) => Promise<void>,
  ) => Promise<UnixServer>;
  /** Serves the resources of pods, on a limited number of calls. */
  servePodResources: (socketPath: string, lister: PodResourcesLister) => Promise<UnixServer>;
}

/** The calls of monitoring agents. A thrown error is the answer. */
export interface PodResourcesLister {
  list: () => PodResources[];
  getAllocatableResources: () => DeepPartial<AllocatableResourcesResponse>;
  get: (request: GetPodResourcesRequest) => PodResources;
}

/** A pod with what its containers have. */
export type PodResources = DeepPartial<PodResourcesMessage>;

export interface UnixServer {
  close: () => void;
}

/** Connections to plugins, and sockets for them. A connection rejects with a `TimeoutError` after 10 s. */
export interface Plugins extends PluginServers {
  connectRegistration: (socketPath: string) => Promise<Connected<PluginRegistration>>;
  connectCSINode: (socketPath: string) => Promise<Connected<CSINode>>;
  connectDevicePlugin: (socketPath: string) => Promise<Connected<DevicePlugin>>;
  /** Of the answers that a checkpoint keeps. */
  allocateResponse: MessageCodec<ContainerAllocateResponse>;
}
