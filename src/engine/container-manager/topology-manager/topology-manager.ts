import type { Container, Pod } from '../../../api/types.ts';
import { initAndRegularContainers } from '../../../api/values/containers.ts';
import { type AffinityStore, topologyPolicies, type TopologyPolicyName } from './affinity-store.ts';
import { AllocationError, type AllocationResult, refused } from './allocation-error.ts';
import { ContainerMap } from './container-map.ts';
import type { Meter } from '../../view/meter.ts';
import type { HintProvider } from './hint-provider.ts';
import type { NUMANode } from './numa-info.ts';
import { topologyPolicyOptions } from './policy-options.ts';
import type { TopologyHint } from './topology-hint.ts';
import { type TopologyPolicy, topologyPolicy } from './topology-policy.ts';

export interface TopologySettings {
  policy: string;
  scope: string;
  options: Readonly<Record<string, string>>;
}

interface Deps {
  settings: TopologySettings;
  nodes: readonly NUMANode[];
  meter?: Pick<Meter, 'count'> | undefined;
}

const noAffinity: TopologyHint = { affinity: undefined, preferred: false };

/**
 * Decides which NUMA nodes a container or pod runs on, and lets the resource managers allocate there. kubelet:
 * topologymanager/topology_manager.go, scope.go
 */
export class TopologyManager implements AffinityStore {
  readonly policyName: TopologyPolicyName;
  /** Undefined if every manager allocates independently. */
  private readonly policy: TopologyPolicy | undefined;
  private readonly scope: string;
  private readonly meter: Deps['meter'];
  private readonly providers: HintProvider[] = [];
  /** By UID of the pod and name of the container. */
  private readonly affinities = new Map<string, Map<string, TopologyHint>>();
  private readonly containers = new ContainerMap();

  /** Throws an `Error` for settings that the kubelet refuses. kubelet: topology_manager.go NewManager */
  constructor({ settings, nodes, meter }: Deps) {
    this.meter = meter;
    this.scope = settings.scope;
    // Without a policy the kubelet ignores all other settings.
    if (settings.policy === 'none') {
      this.policyName = 'none';
      return;
    }
    const { preferClosestNUMA, maxAllowableNUMANodes } = topologyPolicyOptions(settings.options);
    if (preferClosestNUMA && nodes.some(({ distances }) => distances === undefined)) {
      throw new Error('cannot discover NUMA topology: error getting NUMA distances from cadvisor');
    }
    if (nodes.length > maxAllowableNUMANodes) {
      throw new Error(`unsupported on machines with more than ${maxAllowableNUMANodes} NUMA Nodes`);
    }
    this.policyName = policyNamed(settings.policy);
    this.policy = topologyPolicy(this.policyName, { nodes, preferClosestNUMA });
    if (!['container', 'pod'].includes(this.scope)) throw new Error(`unknown scope: "${this.scope}"`);
  }

  /** Providers give hints and allocate in the order in which they were added. */
  addHintProvider(provider: HintProvider): void {
    this.providers.push(provider);
  }

  affinityOf(podUID: string, containerName: string): TopologyHint {
    return this.affinities.get(podUID)?.get(containerName) ?? noAffinity;
  }

  /**
   * Allocates for all containers of a pod. If the pod is rejected, the allocations of its earlier containers remain
   * until the managers remove the state of inactive pods. kubelet: scope_container.go, scope_pod.go, scope_none.go
   * Admit
   */
  admit(pod: Pod): AllocationResult {
    try {
      for (const container of this.placeContainers(pod)) this.allocate(pod, container);
      return { admit: true };
    } catch (error) {
      return refused(error);
    }
  }

  /**
   * Like `admit`, including resources that plugins allocate. With a policy, call it for one pod at a time; `admit` may
   * run for other pods meanwhile. Never rejects.
   */
  async admitWithPlugins(pod: Pod): Promise<AllocationResult> {
    try {
      if (this.policy === undefined) await this.allocateUnaligned(pod);
      else await this.allocateAligned(pod);
      return { admit: true };
    } catch (error) {
      return refused(error);
    }
  }

  /** Call it when a container is created. */
  addContainer(podUID: string, containerName: string, containerID: string): void {
    this.containers.add(podUID, containerName, containerID);
  }

  /** Call it when a container has exited. Removes its affinity unless a newer container has the same name. */
  removeContainer(containerID: string): void {
    const ref = this.containers.remove(containerID);
    if (ref === undefined || this.containers.has(ref.podUID, ref.containerName)) return;
    const ofPod = this.affinities.get(ref.podUID);
    ofPod?.delete(ref.containerName);
    if (ofPod?.size === 0) this.affinities.delete(ref.podUID);
  }

  /**
   * Sets the affinity of each container and yields it. The caller must allocate a container before it requests the next
   * one.
   */
  private *placeContainers(pod: Pod): Generator<Container> {
    const { policy } = this;
    if (policy === undefined) yield* initAndRegularContainers(pod.spec);
    else if (this.scope === 'pod') yield* this.placeTogether(pod, policy);
    else yield* this.placeEach(pod, policy);
  }

  private *placeEach(pod: Pod, policy: TopologyPolicy): Generator<Container> {
    for (const container of initAndRegularContainers(pod.spec)) {
      const { affinity, admit } = policy(this.providers.map((provider) => provider.hints(pod, container)));
      if (!admit) throw this.notAligned();
      this.setAffinity(pod, container, affinity);
      yield container;
      this.countAligned('kubelet_container_aligned_compute_resources_count');
    }
  }

  private *placeTogether(pod: Pod, policy: TopologyPolicy): Generator<Container> {
    const { affinity, admit } = policy(this.providers.map((provider) => provider.podHints(pod)));
    if (!admit) throw this.notAligned();
    for (const container of initAndRegularContainers(pod.spec)) {
      this.setAffinity(pod, container, affinity);
      yield container;
    }
    this.countAligned('kubelet_container_aligned_compute_resources_count');
  }

  private notAligned(): AllocationError {
    this.countAligned('kubelet_container_aligned_compute_resources_failure_count');
    return new AllocationError('TopologyAffinityError', 'Resources cannot be allocated with Topology locality');
  }

  /** Only this policy guarantees one NUMA node. kubelet: topologymanager/topology_manager.go IsAlignmentGuaranteed */
  private countAligned(name: `kubelet_container_aligned_compute_resources_${'count' | 'failure_count'}`): void {
    if (this.policyName !== 'single-numa-node') return;
    this.meter?.count(name, { boundary: 'numa_node', scope: this.scope });
  }

  private setAffinity(pod: Pod, container: Container, affinity: TopologyHint): void {
    const { uid } = pod.metadata;
    const ofPod = this.affinities.get(uid) ?? new Map<string, TopologyHint>();
    this.affinities.set(uid, ofPod.set(container.name, affinity));
  }

  private async allocateUnaligned(pod: Pod): Promise<void> {
    for (const container of initAndRegularContainers(pod.spec)) {
      await this.allocateByPlugins(pod, container);
      this.allocate(pod, container);
    }
  }

  /** Calls plugins last, because other pods may use the rest of the chosen nodes while the plugins answer. */
  private async allocateAligned(pod: Pod): Promise<void> {
    const later: Container[] = [];
    for (const container of this.placeContainers(pod)) {
      this.allocate(pod, container);
      // With scope pod, the nodes of all its containers are already chosen.
      if (this.scope === 'pod') later.push(container);
      else await this.allocateByPlugins(pod, container);
    }
    for (const container of later) await this.allocateByPlugins(pod, container);
  }

  private allocate(pod: Pod, container: Container): void {
    for (const provider of this.providers) provider.allocate(pod, container);
  }

  private async allocateByPlugins(pod: Pod, container: Container): Promise<void> {
    for (const provider of this.providers) await provider.allocateByPlugin?.(pod, container);
  }
}

function policyNamed(name: string): Exclude<TopologyPolicyName, 'none'> {
  const found = topologyPolicies.find((policy) => policy === name);
  if (found === undefined || found === 'none') throw new Error(`unknown policy: "${name}"`);
  return found;
}
