import type { Clock } from '../../../clock.ts';
import { errorMessage } from '../../../errors.ts';
import type { Faults } from '../../../flow/faults.ts';
import type { Logger } from '../../../logger.ts';
import type { Connected, DevicePlugin, DevicePluginOptions, ListAndWatchResponse } from '../../../plugins/types.ts';
import { rpcText } from '../../../cri/rpc-text.ts';
import { type Device, type Devices, healthyIds } from './device.ts';

/** Bounds the memory and the checkpoint size of one resource. */
const deviceListLimits = { devices: 4096, idLength: 253, nodes: 64 };

/** A connected plugin. */
export interface DeviceEndpoint extends Connected<DevicePlugin> {
  socketPath: string;
  options: DevicePluginOptions;
}

/** A resource whose plugin is or was connected. */
interface Resource {
  devices: Devices;
  /** Undefined if the plugin is disconnected. */
  endpoint: DeviceEndpoint | undefined;
  /** Options of the last plugin. Undefined if no plugin has connected to this agent. */
  options: DevicePluginOptions | undefined;
  /** Undefined while the plugin is connected. */
  cancelRemoval: (() => void) | undefined;
}

interface Deps {
  /** Connects to a device plugin. Rejects with a `TimeoutError` after 10 s. */
  connect: (socketPath: string) => Promise<Connected<DevicePlugin>>;
  /** Called when the devices of a resource changed or a resource was removed. */
  onChange: (resource: string, before: Devices) => void;
  clock: Clock;
  faults: Pick<Faults, 'watch'>;
  logger: Logger;
}

/**
 * How long a resource is kept after its plugin disconnected. kubelet: devicemanager/types.go endpointStopGracePeriod
 */
const stopGracePeriodMs = 5 * 60_000;
/** A plugin that does not send its options within this time is not registered. The kubelet waits forever. */
const optionsTimeoutMs = 10_000;
/** Minimum interval between two lists of a plugin, in case it sends them without a pause. */
const listPeriodMs = 100;
const maxResources = 128;

/**
 * The resources of device plugins and the connections to the plugins. kubelet: devicemanager/plugin/v1beta1/,
 * devicemanager/manager.go
 *
 * INVARIANT: only the newest connection of a resource changes its devices.
 */
export class DeviceResources {
  private readonly resources = new Map<string, Resource>();
  /** Connections whose plugin has not sent a list yet, by resource. */
  private readonly starting = new Map<string, DeviceEndpoint>();

  constructor(private readonly deps: Deps) {}

  get names(): string[] {
    return [...this.resources.keys()];
  }

  /** Returns undefined if no plugin provides the resource. */
  devices(resource: string): Devices | undefined {
    return this.resources.get(resource)?.devices;
  }

  /** Returns undefined if the plugin is disconnected. */
  endpoint(resource: string): DeviceEndpoint | undefined {
    return this.starting.get(resource) ?? this.resources.get(resource)?.endpoint;
  }

  /**
   * Options of the plugin, even if it is disconnected. Returns undefined if no plugin of the resource has connected to
   * this agent.
   */
  options(resource: string): DevicePluginOptions | undefined {
    return (this.starting.get(resource) ?? this.resources.get(resource))?.options;
  }

  /** Restores a resource from the checkpoint, without devices, until its plugin reconnects. */
  restore(resource: string): void {
    this.resources.set(resource, {
      devices: new Map(),
      endpoint: undefined,
      options: undefined,
      cancelRemoval: this.removeLater(resource),
    });
  }

  /** Connects to the plugin of a resource and replaces an earlier connection. Rejects with the kubelet's error. */
  async connect(resource: string, socketPath: string): Promise<void> {
    if (!this.resources.has(resource) && this.resources.size + this.starting.size >= maxResources)
      throw new Error(`the node already has the maximum of ${maxResources} device plugin resources`);
    const { connect, faults, logger } = this.deps;
    const connection = await connect(socketPath).catch((error: unknown) => {
      throw new Error(`failed to dial device plugin: ${errorMessage(error)}`, { cause: error });
    });
    const options = await connection.service
      .getDevicePluginOptions({}, { deadlineMs: optionsTimeoutMs })
      .catch((error: unknown) => {
        connection.close();
        throw new Error(`failed to get device plugin options: ${rpcText(error)}`, { cause: error });
      });
    // Closing a connection does not cancel its calls.
    const closed = new AbortController();
    const close = (): void => {
      closed.abort();
      connection.close();
    };
    const endpoint = { ...connection, socketPath, options, close };
    this.endpoint(resource)?.close();
    this.starting.set(resource, endpoint);
    logger.info({ resource, path: socketPath }, 'Connected to a device plugin');
    faults.watch('device plugins', this.watch(resource, endpoint, closed.signal));
  }

  /** Closes the connection to the plugin of a resource, unless another plugin has replaced it. */
  disconnect(resource: string, socketPath: string): void {
    const endpoint = this.endpoint(resource);
    if (endpoint?.socketPath === socketPath) this.disconnected(resource, endpoint);
  }

  /** Closes all connections. */
  close(): void {
    for (const resource of [...this.names, ...this.starting.keys()]) this.endpoint(resource)?.close();
    for (const { cancelRemoval } of this.resources.values()) cancelRemoval?.();
  }

  private async watch(resource: string, endpoint: DeviceEndpoint, left: AbortSignal): Promise<void> {
    const { clock, logger } = this.deps;
    let reason = 'it closed its device list';
    try {
      for await (const list of endpoint.service.listAndWatch({}, { deadlineMs: Infinity, signal: left })) {
        if (left.aborted) return;
        this.update(resource, endpoint, deviceList(list));
        await clock.sleep(listPeriodMs);
      }
    } catch (error) {
      reason = rpcText(error);
    }
    if (left.aborted) return;
    logger.warn({ resource, reason }, 'A device plugin disconnected; marking its devices unhealthy');
    this.disconnected(resource, endpoint);
  }

  private update(resource: string, endpoint: DeviceEndpoint, devices: Devices): void {
    const known = this.resources.get(resource);
    known?.cancelRemoval?.();
    this.starting.delete(resource);
    this.resources.set(resource, { devices, endpoint, options: endpoint.options, cancelRemoval: undefined });
    this.deps.logger.debug(
      { resource, healthy: healthyIds(devices).length, all: devices.size },
      'Device plugin updated its devices',
    );
    this.deps.onChange(resource, known?.devices ?? new Map());
  }

  /**
   * Marks the devices of a disconnected plugin unhealthy. Keeps the resource even if the plugin never sent a list,
   * because otherwise pods would run without their devices. kubelet: devicemanager/manager.go PluginDisconnected,
   * markResourceUnhealthy
   */
  private disconnected(resource: string, endpoint: DeviceEndpoint): void {
    endpoint.close();
    this.starting.delete(resource);
    const known = this.resources.get(resource);
    const before: Devices = known?.devices ?? new Map();
    const unhealthy = [...before].map(([id, device]): [string, Device] => [id, { ...device, isHealthy: false }]);
    known?.cancelRemoval?.();
    const cancelRemoval = this.removeLater(resource);
    const { options } = endpoint;
    this.resources.set(resource, { devices: new Map(unhealthy), endpoint: undefined, options, cancelRemoval });
    this.deps.onChange(resource, before);
  }

  /** kubelet: devicemanager/manager.go GetCapacity */
  private removeLater(resource: string): () => void {
    return this.deps.clock.after(stopGracePeriodMs, () => {
      const devices = this.devices(resource) ?? new Map<string, Device>();
      this.resources.delete(resource);
      this.deps.logger.warn(
        { resource },
        'The plugin of a resource did not reconnect; removed the resource from the node',
      );
      this.deps.onChange(resource, devices);
    });
  }
}

/**
 * Parses a plugin's list. If several devices have one id, the last one wins. Throws an `Error` if there are too many
 * devices or nodes, or if an id is invalid.
 */
export function deviceList({ devices }: ListAndWatchResponse): Devices {
  if (devices.length > deviceListLimits.devices)
    throw new Error(`it lists more than ${deviceListLimits.devices} devices`);
  return new Map(
    devices.map(({ ID: id, health, topology }): [string, Device] => {
      if (id === '' || id.length > deviceListLimits.idLength || /\p{Cc}/u.test(id))
        throw new Error(
          `an id of a device is empty, longer than ${deviceListLimits.idLength} characters, or not a text`,
        );
      const nodes = (topology?.nodes ?? []).map(({ ID: node }) => Number(node));
      if (nodes.length > deviceListLimits.nodes || !nodes.every(Number.isSafeInteger))
        throw new Error(
          `a device has more than ${deviceListLimits.nodes} NUMA nodes, or an id of one that is no whole number`,
        );
      const hasEmptyTopology = topology !== undefined && nodes.length === 0;
      return [id, { id, isHealthy: health === 'Healthy', nodes, ...(hasEmptyTopology && { hasEmptyTopology }) }];
    }),
  );
}
