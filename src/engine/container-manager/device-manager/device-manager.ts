import type { Container, Pod } from '../../../api/types.ts';
import { initAndRegularContainers } from '../../../api/values/containers.ts';
import { quantityValue, toQuantity } from '../../../api/values/quantity.ts';
import { isSidecar } from '../../../api/values/sidecars.ts';
import type { Logger } from '../../../logger.ts';
import type { BitMask } from '../topology-manager/bit-mask.ts';
import type { HintProvider } from '../topology-manager/hint-provider.ts';
import type { StateFile } from '../checkpoint/state-file.ts';
import type { ResourceHints, TopologyHint } from '../topology-manager/topology-hint.ts';
import { type Choice, chooseDevices } from './choose-devices.ts';
import { type ContainerDevices, mergeResponses } from './container-devices.ts';
import { type Devices, healthyIds, nodeWithoutTopology } from './device.ts';
import { formatDeviceCheckpoint, parseDeviceCheckpoint } from './device-checkpoint.ts';
import { computeDeviceHints, hasTopology } from './device-hints.ts';
import { DevicePluginCalls, type DevicePluginCallsDeps } from './device-plugin-calls.ts';
import { PodDevices } from './pod-devices.ts';

interface Deps extends DevicePluginCallsDeps {
  /** UIDs of pods that may have devices. Undefined until the declared pods are known. */
  activePods: () => ReadonlySet<string> | undefined;
  /** NUMA nodes that the topology manager chose for a container. Undefined means any. */
  affinityOf: (podUID: string, containerName: string) => BitMask | undefined;
  numaNodes: () => readonly number[];
  logger: Logger;
}

/**
 * Allocates plugin devices to containers. kubelet: devicemanager/manager.go
 *
 * INVARIANT: two containers have the same device only if they belong to one pod and one of them is an init container
 * that has exited.
 */
export class DeviceManager implements HintProvider {
  private readonly pods = new PodDevices();
  /** Devices reserved while their plugin is called: UID of the pod by `resource id`. */
  private readonly reserved = new Map<string, string>();
  private file: StateFile | undefined;

  private readonly plugins: DevicePluginCalls;

  constructor(private readonly deps: Deps) {
    this.plugins = new DevicePluginCalls(deps);
  }

  /** Reads the checkpoint. Call it once, before all other methods. Throws an `Error` if it is damaged. */
  start(file: StateFile): void {
    const { entries, registered } = parseDeviceCheckpoint(file.content ?? emptyCheckpoint);
    this.file = file;
    for (const entry of entries) this.pods.add({ ...entry, response: this.deps.codec.decode(entry.response) });
    for (const resource of registered.keys()) this.deps.resources.restore(resource);
  }

  /** Call it when the devices of a resource changed. */
  saveDevices(): void {
    this.write();
  }

  /** True if a container of the pod requests a resource of a plugin. */
  requestsDevices(pod: Pod): boolean {
    return initAndRegularContainers(pod.spec).some((container) => this.requests(container).length > 0);
  }

  /** UIDs of pods that have this device. */
  podsWith(resource: string, id: string): string[] {
    return this.pods.all
      .filter((one) => one.resource === resource && [...one.idsByNode.values()].flat().includes(id))
      .map(({ podUID }) => podUID);
  }

  /** UIDs of pods that have, or are being allocated, devices of a resource that this pod requests. */
  holdersFor(pod: Pod): string[] {
    const asked = new Set(
      initAndRegularContainers(pod.spec).flatMap((one) => this.requests(one).map(([resource]) => resource)),
    );
    const isAsked = (key: string): boolean => asked.has(key.slice(0, key.indexOf(' ')));
    return [
      ...this.pods.all.filter(({ resource }) => asked.has(resource)).map(({ podUID }) => podUID),
      ...[...this.reserved].filter(([key]) => isAsked(key)).map(([, podUID]) => podUID),
    ];
  }

  /** Frees the devices of a rejected pod. */
  release(podUID: string): void {
    if (!this.pods.podUIDs.includes(podUID)) return;
    this.pods.remove(podUID);
    this.write();
  }

  hints(pod: Pod, container: Container): ResourceHints {
    this.prune();
    const hints = this.requests(container).map(([resource, count]): [string, TopologyHint[] | undefined] => {
      const allocated = this.pods.ids(pod.metadata.uid, container.name, resource);
      const reusable = this.reusable(pod, container, resource);
      return [resource, this.hintsFor(resource, count, allocated, reusable)];
    });
    return new Map(hints);
  }

  podHints(pod: Pod): ResourceHints {
    this.prune();
    return new Map(
      [...this.podRequests(pod)].map(([resource, count]) => {
        const ofContainers = initAndRegularContainers(pod.spec).map(({ name }) =>
          this.pods.ids(pod.metadata.uid, name, resource),
        );
        const allocated = new Set(ofContainers.flatMap((ids) => [...(ids ?? [])]));
        return [resource, this.hintsFor(resource, count, allocated, new Set())];
      }),
    );
  }

  /** Does nothing, because devices are allocated by `allocateByPlugin`. */
  allocate(): void {
    // Plugins answer asynchronously.
  }

  /**
   * Allocates the missing devices of a container. Rejects with the kubelet's error. kubelet: devicemanager/manager.go
   * Allocate
   */
  async allocateByPlugin(pod: Pod, container: Container): Promise<void> {
    this.prune();
    for (const [resource, count] of this.requests(container)) {
      await this.allocateResource(pod, container, resource, count);
    }
  }

  /**
   * Resolves with the plugins' additions to a new container, after the plugins prepared its devices. Resolves with
   * undefined if it has no devices. Rejects with the kubelet's error. kubelet: devicemanager/manager.go
   * GetDeviceRunContainerOptions
   */
  async containerDevices(pod: Pod, container: Container): Promise<ContainerDevices | undefined> {
    const { uid } = pod.metadata;
    const requests = this.requests(container).filter(([, count]) => count > 0);
    if (requests.length === 0) return undefined;
    const missing: string[] = [];
    for (const [resource] of requests) {
      this.plugins.require(resource);
      const ids = this.pods.ids(uid, container.name, resource);
      if (ids === undefined) missing.push(resource);
      else await this.plugins.preStart(resource, ids);
    }
    if (missing.length > 0) await this.allocateLate(pod, container, missing);
    return mergeResponses(this.pods.of(uid, container.name).map(([, { response }]) => response));
  }

  /** Devices of a container, with one entry per device and NUMA node. */
  allocated(podUID: string, containerName: string): { resource: string; id: string; node: number | undefined }[] {
    return this.pods
      .of(podUID, containerName)
      .flatMap(([resource, { idsByNode }]) =>
        [...idsByNode].flatMap(([node, ids]) =>
          ids.map((id) => ({ resource, id, node: node === nodeWithoutTopology ? undefined : node })),
        ),
      );
  }

  /** Returns `Unknown` if the plugin is disconnected or does not list the device. */
  healthOf(resource: string, id: string): 'Healthy' | 'Unhealthy' | 'Unknown' {
    const device = this.deps.resources.devices(resource)?.get(id);
    if (device === undefined) return 'Unknown';
    return device.isHealthy ? 'Healthy' : 'Unhealthy';
  }

  /** Frees the devices of all inactive pods. kubelet: devicemanager/manager.go UpdateAllocatedDevices */
  prune(): void {
    const active = this.deps.activePods();
    if (active === undefined) return;
    for (const uid of this.pods.podUIDs) if (!active.has(uid)) this.pods.remove(uid);
  }

  /** A pod that was admitted before its plugin registered gets its devices when a container starts. */
  private async allocateLate(pod: Pod, container: Container, missing: readonly string[]): Promise<void> {
    await this.allocateByPlugin(pod, container);
    for (const resource of missing) {
      const ids = this.pods.ids(pod.metadata.uid, container.name, resource);
      if (ids !== undefined) await this.plugins.preStart(resource, ids);
    }
  }

  private async allocateResource(pod: Pod, container: Container, resource: string, count: number): Promise<void> {
    const { uid } = pod.metadata;
    const has = this.pods.ids(uid, container.name, resource);
    if (has !== undefined && has.size !== count) {
      const change = `changed request for resource "${resource}" from ${has.size} to ${count}`;
      throw new Error(`pod "${uid}" container "${container.name}" ${change}`);
    }
    this.requireHealthy(resource, has);
    if (has !== undefined || count === 0) return;
    const choice = (): Choice => ({
      resource,
      count,
      reusable: this.reusable(pod, container, resource),
      devices: this.deps.resources.devices(resource) ?? new Map(),
      inUse: this.inUse(resource),
      affinity: this.deps.affinityOf(uid, container.name),
    });
    const preferred = await this.plugins.preferred(resource, choice());
    // Build the choice again, because other containers may have got devices since.
    const ids = chooseDevices(choice(), preferred);
    const keys = ids.map((id) => keyOf(resource, id));
    for (const key of keys) this.reserved.set(key, uid);
    try {
      const response = await this.plugins.allocate(resource, ids);
      const idsByNode = byNode(ids, this.deps.resources.devices(resource));
      this.pods.add({ podUID: uid, containerName: container.name, resource, idsByNode, response });
    } finally {
      for (const key of keys) this.reserved.delete(key);
    }
    this.write();
  }

  private requireHealthy(resource: string, has: ReadonlySet<string> = new Set()): void {
    const devices = this.deps.resources.devices(resource);
    if (devices === undefined) throw new Error(`cannot allocate unregistered device ${resource}`);
    const healthy = new Set(healthyIds(devices));
    const lost = `cannot allocate unhealthy devices ${resource}`;
    if (healthy.size === 0) throw new Error(`no healthy devices present; ${lost}`);
    if ([...has].some((id) => !healthy.has(id)))
      throw new Error(`previously allocated devices are no longer healthy; ${lost}`);
  }

  /** Plugin resources in the limits of a container with their requested counts, which may be 0. */
  private requests({ resources = {} }: Container): [string, number][] {
    return Object.entries(resources.limits ?? {})
      .map(([resource, limit]): [string, number] => [resource, Number(quantityValue(toQuantity(limit)))])
      .filter(([resource]) => this.isPluginResource(resource));
  }

  private isPluginResource(resource: string): boolean {
    return this.deps.resources.devices(resource) !== undefined || this.pods.hasResource(resource);
  }

  /** kubelet: devicemanager/topology_hints.go getPodDeviceRequest */
  private podRequests(pod: Pod): Map<string, number> {
    const [most, sum] = [new Map<string, number>(), new Map<string, number>()];
    for (const container of pod.spec.initContainers ?? []) {
      for (const [resource, count] of this.requests(container)) {
        if (isSidecar(container)) sum.set(resource, (sum.get(resource) ?? 0) + count);
        most.set(
          resource,
          Math.max(most.get(resource) ?? 0, count + (isSidecar(container) ? 0 : (sum.get(resource) ?? 0))),
        );
      }
    }
    for (const container of pod.spec.containers) {
      for (const [resource, count] of this.requests(container)) sum.set(resource, (sum.get(resource) ?? 0) + count);
    }
    const resources = new Set([...most.keys(), ...sum.keys()]);
    return new Map(
      [...resources].map((resource) => [resource, Math.max(most.get(resource) ?? 0, sum.get(resource) ?? 0)]),
    );
  }

  private hintsFor(
    resource: string,
    count: number,
    allocated: ReadonlySet<string> = new Set(),
    reusable: ReadonlySet<string>,
  ): TopologyHint[] | undefined {
    const devices: Devices = this.deps.resources.devices(resource) ?? new Map();
    if (!hasTopology(devices)) return undefined;
    if (allocated.size > 0 && allocated.size !== count) return [];
    const inUse = this.inUse(resource);
    const free = healthyIds(devices).filter((id) => !inUse.has(id) && !reusable.has(id));
    const available = allocated.size > 0 ? allocated : new Set(free);
    if (available.size + reusable.size < count) return [];
    const request = { count, devices, available, reusable: allocated.size > 0 ? [] : reusable };
    return computeDeviceHints(this.deps.numaNodes(), request);
  }

  private inUse(resource: string): Set<string> {
    const prefix = keyOf(resource, '');
    const reserved = [...this.reserved.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length));
    return new Set([...this.pods.idsInUse(resource), ...reserved]);
  }

  /**
   * Devices of the pod's exited init containers that no other container has. kubelet: devicemanager/manager.go Allocate
   */
  private reusable(pod: Pod, container: Container, resource: string): Set<string> {
    const { uid } = pod.metadata;
    const isTemporary = (other: Container): boolean =>
      (pod.spec.initContainers ?? []).includes(other) && !isSidecar(other);
    const idsOf = (containers: readonly Container[]): string[] =>
      containers.flatMap(({ name }) => [...(this.pods.ids(uid, name, resource) ?? [])]);
    const all = initAndRegularContainers(pod.spec);
    const at = all.findIndex(({ name }) => name === container.name);
    const kept = new Set(idsOf(all.filter((other) => !isTemporary(other))));
    return new Set(idsOf(all.slice(0, at).filter(isTemporary)).filter((id) => !kept.has(id)));
  }

  private write(): void {
    const { resources, codec } = this.deps;
    const registered = resources.names.map((resource): [string, string[]] => [
      resource,
      healthyIds(resources.devices(resource) ?? new Map()),
    ]);
    const entries = this.pods.all.map(({ response, ...entry }) => ({ ...entry, response: codec.encode(response) }));
    this.file?.write(formatDeviceCheckpoint({ entries, registered: new Map(registered) }));
  }
}

const emptyCheckpoint = formatDeviceCheckpoint({ entries: [], registered: new Map() });

const keyOf = (resource: string, id: string): string => `${resource} ${id}`;

function byNode(ids: readonly string[], devices: Devices | undefined): Map<number, string[]> {
  const found = new Map<number, string[]>();
  for (const id of ids) {
    const nodes = devices?.get(id)?.nodes ?? [];
    for (const node of nodes.length === 0 ? [nodeWithoutTopology] : nodes)
      found.set(node, [...(found.get(node) ?? []), id]);
  }
  return found;
}
