import type { Clock } from '../../../clock.ts';
import { rpcText } from '../../../cri/rpc-text.ts';
import type { ContainerAllocateResponse, MessageCodec } from '../../../plugins/types.ts';
import type { Meter } from '../../view/meter.ts';
import { type Choice, computePreference } from './choose-devices.ts';
import type { DeviceEndpoint, DeviceResources } from './device-resources.ts';

export interface DevicePluginCallsDeps {
  resources: DeviceResources;
  /** Encodes the plugins' responses for the checkpoint. */
  codec: MessageCodec<ContainerAllocateResponse>;
  meter?: Pick<Meter, 'observe'> | undefined;
  clock: Pick<Clock, 'monotonic'>;
}

/**
 * Timeouts in milliseconds. The kubelet limits only PreStartContainer. kubelet: devicemanager/endpoint.go
 * preStartContainer
 */
const timeouts = { preferredAllocation: 30_000, allocate: 120_000, preStartContainer: 30_000 };
/** Size limit of a plugin's response for one container, which bounds the checkpoint. */
const maxResponseBytes = 256 * 1024;

/** Calls of device plugins, with the kubelet's errors. kubelet: devicemanager/endpoint.go */
export class DevicePluginCalls {
  constructor(private readonly deps: DevicePluginCallsDeps) {}

  /**
   * Throws unless the resource has a plugin. One that disconnected recently also counts. kubelet:
   * devicemanager/manager.go callPreStartContainerIfNeeded
   */
  require(resource: string): void {
    const { resources } = this.deps;
    if (resources.devices(resource) === undefined && resources.endpoint(resource) === undefined)
      throw new Error(`endpoint not found in cache for a registered resource: ${resource}`);
  }

  /** Returns the devices that the plugin prefers. Returns [] if it has no preference. */
  async preferred(resource: string, choice: Choice): Promise<string[]> {
    const { service, options } = this.endpoint(resource);
    const preference = computePreference(choice);
    if (!options.getPreferredAllocationAvailable || preference === undefined) return [];
    const { available, mustInclude, count } = preference;
    const request = {
      containerRequests: [{ availableDeviceIDs: available, mustIncludeDeviceIDs: mustInclude, allocationSize: count }],
    };
    const answer = await withRPCError('GetPreferredAllocation', () =>
      service.getPreferredAllocation(request, { deadlineMs: timeouts.preferredAllocation }),
    );
    return answer.containerResponses[0]?.deviceIDs ?? [];
  }

  /** Rejects with the error of the plugin. */
  async allocate(resource: string, ids: string[]): Promise<ContainerAllocateResponse> {
    const { service } = this.endpoint(resource);
    const { clock, meter } = this.deps;
    const startedAtMonotonic = clock.monotonic();
    const { containerResponses } = await service
      .allocate({ containerRequests: [{ devicesIds: ids }] }, { deadlineMs: timeouts.allocate })
      .catch((error: unknown) => {
        throw new Error(rpcText(error), { cause: error });
      })
      .finally(() => {
        const seconds = (clock.monotonic() - startedAtMonotonic) / 1000;
        meter?.observe('kubelet_device_plugin_alloc_duration_seconds', seconds, { resource_name: resource });
      });
    const [response] = containerResponses;
    if (response === undefined) {
      const answer = '&AllocateResponse{ContainerResponses:[]*ContainerAllocateResponse{},}';
      throw new Error(`no containers return in allocation response ${answer}`);
    }
    if (this.deps.codec.encode(response).length > maxResponseBytes)
      throw new Error(`the device plugin of ${resource} adds more than ${maxResponseBytes} bytes to a container`);
    return response;
  }

  /** kubelet: devicemanager/manager.go callPreStartContainerIfNeeded, endpoint.go preStartContainer */
  async preStart(resource: string, ids: ReadonlySet<string>): Promise<void> {
    const { resources } = this.deps;
    if (resources.options(resource)?.preStartRequired !== true) return;
    await withRPCError('PreStartContainer', async () => {
      const endpoint = resources.endpoint(resource);
      if (endpoint === undefined) throw new Error(`endpoint ${resource} has been stopped`);
      const request = { devicesIds: [...ids] };
      await endpoint.service.preStartContainer(request, { deadlineMs: timeouts.preStartContainer });
    });
  }

  private endpoint(resource: string): DeviceEndpoint {
    const endpoint = this.deps.resources.endpoint(resource);
    if (endpoint === undefined) throw new Error(`unknown Device Plugin ${resource}`);
    return endpoint;
  }
}

async function withRPCError<T>(method: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw new Error(`device plugin ${method} rpc failed with err: ${rpcText(error)}`, { cause: error });
  }
}
