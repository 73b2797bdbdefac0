import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Container, ContainerStatus, Pod } from '../../../api/types.ts';
import { initAndRegularContainers } from '../../../api/values/containers.ts';
import type { Clock } from '../../../clock.ts';
import type { Faults } from '../../../flow/faults.ts';
import type { Logger } from '../../../logger.ts';
import { makeFolder } from '../../../files/make-folder.ts';
import type { Plugins, UnixServer } from '../../../plugins/types.ts';
import type { Meter } from '../../view/meter.ts';
import { DiskStateFile, startWithStateFile } from '../checkpoint/disk-state-file.ts';
import { type AllocationResult, refused } from '../topology-manager/allocation-error.ts';
import type { BitMask } from '../topology-manager/bit-mask.ts';
import type { HintProvider } from '../topology-manager/hint-provider.ts';
import type { ContainerDevices } from './container-devices.ts';
import type { Devices } from './device.ts';
import { DeviceAdmission, type PluginAllocation } from './device-admission.ts';
import { DeviceManager } from './device-manager.ts';
import { registeredSocket, validateDevicePlugin } from './device-registration.ts';
import { DeviceResources } from './device-resources.ts';

/** The CPU and memory managers, which also align devices. */
interface Managers {
  admitWithPlugins: (pod: Pod, isAwaited: () => boolean) => Promise<PluginAllocation>;
  isAligning: boolean;
  affinityOf: (podUID: string, containerName: string) => BitMask | undefined;
  numaNodes: readonly number[];
}

/** Called when plugins have answered for a pod, or when the health of a device changed. */
export type DeviceEventListener = (event: 'answer' | 'change') => void;

interface Deps {
  /** `<root-dir>/device-plugins` */
  folder: string;
  plugins: Pick<Plugins, 'connectDevicePlugin' | 'serveDeviceRegistration' | 'allocateResponse'>;
  /** Pods whose containers may run. */
  activePods: () => readonly Pod[];
  /** True once every source has reported its pods. */
  sourcesReady: () => boolean;
  /** Undefined if the node has none. */
  managers: () => Managers | undefined;
  onEvent: DeviceEventListener;
  /** Called when a rejected pod freed devices, CPUs or memory that these pods may have lacked. */
  onFreed: (podUIDs: readonly string[]) => void;
  /** Called when the health of devices of these pods changed. Undefined if no status shows it. */
  onHealthChanged: ((podUIDs: ReadonlySet<string>) => void) | undefined;
  meter?: Pick<Meter, 'count' | 'observe'> | undefined;
  clock: Clock;
  faults: Pick<Faults, 'watch'>;
  logger: Logger;
}

const checkpointName = 'kubelet_internal_checkpoint';
/**
 * Enough for the plugin responses of thousands of containers. If the file were not read, their devices would be freed.
 */
const maxCheckpointBytes = 128 * 1024 * 1024;

/** Manages the devices of plugins while the agent runs. kubelet: cm/container_manager_linux.go */
export class NodeDevices {
  /** For the topology manager. */
  readonly hintProvider: HintProvider;
  private readonly resources: DeviceResources;
  private readonly manager: DeviceManager;
  private readonly admission: DeviceAdmission;
  private file: DiskStateFile | undefined;
  private server: UnixServer | undefined;
  private isClosed = false;

  constructor(private readonly deps: Deps) {
    const { plugins, managers, meter, clock, logger } = deps;
    this.resources = new DeviceResources({
      ...deps,
      connect: plugins.connectDevicePlugin,
      onChange: (resource, before) => {
        this.handleChange(resource, before);
      },
    });
    this.manager = new DeviceManager({
      resources: this.resources,
      codec: plugins.allocateResponse,
      activePods: () => this.activePods(),
      affinityOf: (podUID, name) => managers()?.affinityOf(podUID, name),
      numaNodes: () => managers()?.numaNodes ?? [],
      meter,
      clock,
      logger,
    });
    this.hintProvider = this.manager;
    this.admission = new DeviceAdmission({
      allocate: (pod) => this.allocate(pod),
      isAligning: () => managers()?.isAligning ?? false,
      holdersFor: (pod) => this.manager.holdersFor(pod),
      release: (uid) => {
        this.manager.release(uid);
      },
      onFreed: deps.onFreed,
      onAllocated: () => {
        deps.onEvent('answer');
      },
    });
  }

  /** Reads the checkpoint. Call it before all other methods, and again if it rejects with a system error. */
  async start(): Promise<void> {
    const { folder, clock, logger } = this.deps;
    await makeFolder(folder, 0o755);
    if (this.file === undefined) {
      const path = join(folder, checkpointName);
      const file = await DiskStateFile.open({ path, maxBytes: maxCheckpointBytes, clock, logger });
      await startWithStateFile(this.manager, file, logger);
      this.file = file;
    }
  }

  /**
   * Accepts registrations of plugins. Rejects with a system error, or with a `UserError` if the socket path is too
   * long. kubelet: devicemanager/plugin/v1beta1/server.go Start, CleanupPluginDirectory
   */
  async serve(): Promise<void> {
    const { folder, plugins, meter } = this.deps;
    await removeSockets(folder);
    this.server = await plugins.serveDeviceRegistration(join(folder, 'kubelet.sock'), async (request) => {
      // Counts rejected registrations too, as the kubelet does.
      meter?.count('kubelet_device_plugin_registration_total', { resource_name: request.resourceName });
      await this.resources.connect(request.resourceName, registeredSocket(folder, request));
    });
  }

  /**
   * Explains why plugins cannot register. Returns undefined if they can, and after `close`, because a stopping node
   * needs no plugins. kubelet: devicemanager/plugin/v1beta1/server.go Check, Stop
   */
  unhealthyBecause(): string | undefined {
    if (this.server !== undefined || this.isClosed) return undefined;
    return 'device plugin registration gRPC server failed and no device plugins can register';
  }

  /** Resolves when the checkpoint is written. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.server?.close();
    this.resources.close();
    await this.file?.close();
  }

  /**
   * Handles plugins that present their sockets in plugins_registry. kubelet: devicemanager/plugin/v1beta1/handler.go
   */
  get pluginHandler() {
    return {
      validate: validateDevicePlugin,
      register: ({ name, endpoint }: { name: string; endpoint: string }): Promise<void> =>
        this.resources.connect(name, endpoint),
      deRegister: ({ name, endpoint }: { name: string; endpoint: string }): void => {
        this.resources.disconnect(name, endpoint);
      },
    };
  }

  /** True if a container of the pod requests devices of a plugin. */
  requestsDevices(pod: Pod): boolean {
    return this.manager.requestsDevices(pod);
  }

  /** Allocates devices for all containers of a pod. Returns undefined while plugins are called; `onEvent` follows. */
  admit(pod: Pod): AllocationResult | undefined {
    return this.admission.admit(pod);
  }

  /** Drops the request of a removed pod. */
  removePod(uid: string): void {
    this.admission.remove(uid);
  }

  /** Resolves with the plugins' additions to a new container. Rejects with the kubelet's error. */
  containerDevices(pod: Pod, container: Container): Promise<ContainerDevices | undefined> {
    return this.manager.containerDevices(pod, container);
  }

  /** One entry per device and NUMA node. */
  allocated(podUID: string, containerName: string): DeviceOnNode[] {
    return this.manager.allocated(podUID, containerName);
  }

  /**
   * All healthy devices, with one entry per device and NUMA node. kubelet: apis/podresources/server_v1.go
   * containerDevicesFromResourceDeviceInstances
   */
  allocatable(): DeviceOnNode[] {
    return this.resources.names.flatMap((resource) =>
      [...(this.resources.devices(resource)?.values() ?? [])]
        .filter(({ isHealthy, hasEmptyTopology }) => isHealthy && hasEmptyTopology !== true)
        .flatMap(({ id, nodes }) => (nodes.length === 0 ? [undefined] : nodes).map((node) => ({ resource, id, node }))),
    );
  }

  /** Frees the devices of removed pods. */
  prune(): void {
    this.manager.prune();
  }

  /** Adds the health of the container's devices to its status. kubelet: devicemanager UpdateAllocatedResourcesStatus */
  withHealth(podUID: string, status: ContainerStatus): ContainerStatus {
    const ids = new Map<string, Set<string>>();
    for (const { resource, id } of this.manager.allocated(podUID, status.name))
      ids.set(resource, (ids.get(resource) ?? new Set()).add(id));
    if (ids.size === 0) return status;
    const allocatedResourcesStatus = [...ids].map(([name, ofResource]) => ({
      name,
      resources: [...ofResource].map((resourceID) => ({ resourceID, health: this.manager.healthOf(name, resourceID) })),
    }));
    return { ...status, allocatedResourcesStatus };
  }

  private async allocate(pod: Pod): Promise<PluginAllocation> {
    const managers = this.deps.managers();
    const isAwaited = (): boolean => this.admission.isAwaited(pod.metadata.uid);
    if (managers !== undefined) return managers.admitWithPlugins(pod, isAwaited);
    return { result: await this.allocateDevices(pod), refusedMeanwhile: [] };
  }

  private async allocateDevices(pod: Pod): Promise<AllocationResult> {
    try {
      for (const container of initAndRegularContainers(pod.spec)) await this.manager.allocateByPlugin(pod, container);
      return { admit: true };
    } catch (error) {
      return refused(error);
    }
  }

  private activePods(): ReadonlySet<string> | undefined {
    if (!this.deps.sourcesReady()) return undefined;
    return new Set([...this.deps.activePods().map(({ metadata }) => metadata.uid), ...this.admission.podUIDs]);
  }

  private handleChange(resource: string, before: Devices): void {
    const isLost = this.resources.endpoint(resource) === undefined && this.resources.devices(resource) !== undefined;
    // As in the kubelet, the file keeps a lost plugin's devices until the resource is removed.
    if (!isLost) this.manager.saveDevices();
    const after: Devices = this.resources.devices(resource) ?? new Map();
    const ids = [...new Set([...before.keys(), ...after.keys()])];
    const changed = ids.filter((id) => before.get(id)?.isHealthy !== after.get(id)?.isHealthy);
    if (changed.length === 0) return;
    this.deps.onEvent('change');
    this.deps.onHealthChanged?.(new Set(changed.flatMap((id) => this.manager.podsWith(resource, id))));
  }
}

/** A device on one of its NUMA nodes. `node` is undefined if the plugin reports none. */
export interface DeviceOnNode {
  resource: string;
  id: string;
  node: number | undefined;
}

/** Removes the sockets of plugins, which then register again. Keeps everything else. */
async function removeSockets(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isSocket()) await rm(join(folder, entry.name), { force: true });
  }
}
