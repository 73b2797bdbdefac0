import type { Clock } from '../../../clock.ts';
import { errorMessage } from '../../../errors.ts';
import type { Faults } from '../../../flow/faults.ts';
import type { Logger } from '../../../logger.ts';
import type { Connected, DevicePlugin, DevicePluginOptions, ListAndWatchResponse } from '../../../plugins/types.ts';
import { rpcText } from '../../../cri/rpc-text.ts';
import { type Device, type Devices, healthyIds } from './device.ts';

/** Bounds the memory and the checkpoint that one resource takes. */
const deviceListLimits = { devices: 4096, idLength: 253, nodes: 64 };

/** A plugin that is connected. */
export interface DeviceEndpoint extends Connected<DevicePlugin> {
  socketPath: string;
  options: DevicePluginOptions;
}

/** A resource whose plugin was connected once. */
interface Resource {
  devices: Devices;
  /** Undefined if the plugin ended. */
  endpoint: DeviceEndpoint | undefined;
  /** Those of the last plugin. Undefined if this agent has seen none. */
  options: DevicePluginOptions | undefined;
  /** Undefined while the plugin is connected. */
  cancelRemoval: (() => void) | undefined;
}

interface Deps {
  /** Connects to a device plugin. Rejects with a `TimeoutError` after 10 s. */
  connect: (socketPath: string) => Promise<Connected<DevicePlugin>>;
  /** The devices of a resource are other ones, or a resource is gone. */
  onChange: (resource: string, before: Devices) => void;
  clock: Clock;
  faults: Pick<Faults, 'watch'>;
  logger: Logger;
}

/** How long a resource is kept without its plugin. kubelet: devicemanager/types.go endpointStopGracePeriod */
const stopGracePeriodMs = 5 * 60_000;
/** kubelet waits for ever; a plugin that does not give its options within this time is not registered. */
const optionsTimeoutMs = 10_000;
/** A plugin that sends lists without a pause is read at this interval. */
const listPeriodMs = 100;
const maxResources = 128;

/**
 * The resources of device plugins, and the connections to them. kubelet: devicemanager/plugin/v1beta1/,
 * devicemanager/manager.go
 *
 * INVARIANT: only the last connection of a resource changes its devices.
 */
export class DeviceResources {
  private readonly resources = new Map<string, Resource>();
  /** Connections whose plugin has not sent a list yet, by resource. */
  private readonly starting = new Map<string, DeviceEndpoint>();

  constructor(private readonly deps: Deps) {}

  get names(): string[] {
    return [...this.resources.keys()];
  }

  /** Returns undefined for a resource of no plugin. */
  devices(resource: string): Devices | undefined {
    return this.resources.get(resource)?.devices;
  }

  /** Returns undefined if the plugin ended. */
  endpoint(resource: string): DeviceEndpoint | undefined {
    return this.starting.get(resource) ?? this.resources.get(resource)?.endpoint;
  }

  /** Also those of a plugin that ended. Returns undefined if this agent has seen no plugin of the resource. */
  options(resource: string): DevicePluginOptions | undefined {
    return (this.starting.get(resource) ?? this.resources.get(resource))?.options;
  }

  /** Keeps a resource of an earlier agent until its plugin is back, without devices. */
  restore(resource: string): void {
    this.resources.set(resource, {
      devices: new Map(),
      endpoint: undefined,
      options: undefined,
      cancelRemoval: this.removeLater(resource),
    });
  }

  /** Connects to the plugin of a resource, in place of an earlier one. Rejects with the kubelet's error. */
  async connect(resource: string, socketPath: string): Promise<void> {
    if (!this.resources.has(resource) && this.resources.size + this.starting.size >= maxResources)
      throw new Error(`the node has ${maxResources} resources of device plugins, and takes no more`);
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
    // The end of a connection does not end its calls.
    const left = new AbortController();
    const close = (): void => {
      left.abort();
      connection.close();
    };
    const endpoint = { ...connection, socketPath, options, close };
    this.endpoint(resource)?.close();
    this.starting.set(resource, endpoint);
    logger.info({ resource, path: socketPath }, 'Connected to a device plugin');
    faults.watch('device plugins', this.watch(resource, endpoint, left.signal));
  }

  /** Ends the connection to the plugin of a resource, unless that is another plugin by now. */
  disconnect(resource: string, socketPath: string): void {
    const endpoint = this.endpoint(resource);
    if (endpoint?.socketPath === socketPath) this.lose(resource, endpoint);
  }

  /** Ends all connections. */
  close(): void {
    for (const resource of [...this.names, ...this.starting.keys()]) this.endpoint(resource)?.close();
    for (const { cancelRemoval } of this.resources.values()) cancelRemoval?.();
  }

  private async watch(resource: string, endpoint: DeviceEndpoint, left: AbortSignal): Promise<void> {
    const { clock, logger } = this.deps;
    let reason = 'it has ended its list';
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
    logger.warn({ resource, reason }, 'A device plugin ended; its devices count as unhealthy');
    this.lose(resource, endpoint);
  }

  private update(resource: string, endpoint: DeviceEndpoint, devices: Devices): void {
    const known = this.resources.get(resource);
    known?.cancelRemoval?.();
    this.starting.delete(resource);
    this.resources.set(resource, { devices, endpoint, options: endpoint.options, cancelRemoval: undefined });
    this.deps.logger.debug({ resource, healthy: healthyIds(devices).length, all: devices.size }, 'Devices of a plugin');
    this.deps.onChange(resource, known?.devices ?? new Map());
  }

  /**
   * Also keeps the resource of a plugin that never sent a list: without it, pods would run without their devices.
   * kubelet: devicemanager/manager.go PluginDisconnected, markResourceUnhealthy
   */
  private lose(resource: string, endpoint: DeviceEndpoint): void {
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
        'The plugin of a resource did not come back; the node no longer has the resource',
      );
      this.deps.onChange(resource, devices);
    });
  }
}

/**
 * The devices of a list. Of several devices with one id the last counts. Throws an `Error` for a list that no machine
 * has: too many devices or nodes, or texts that are no ids.
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
