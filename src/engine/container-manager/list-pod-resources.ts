import type { Container, Pod } from '../../api/types.ts';
import { sidecarsOf } from '../../api/values/sidecars.ts';
import type { PodResources as PodResourcesMessage, PodResourcesLister } from '../../plugins/types.ts';
import type { DeviceOnNode, NodeDevices } from './device-manager/node-devices.ts';
import type { MemoryBlock } from './memory-manager/memory-state.ts';
import type { PodResources } from './resource-managers/pod-resources.ts';

interface Deps {
  declaredPods: () => readonly Pod[];
  /** Returns the pods to list. */
  listedPods: () => readonly Pod[];
  /** Undefined if the node does not accept device plugins. */
  devices: Pick<NodeDevices, 'allocated' | 'allocatable' | 'prune'> | undefined;
  /** Undefined if no container can have exclusive CPUs or memory nodes. */
  podResources: Pick<PodResources, 'resourcesOf' | 'allocatable'> | undefined;
}

/** Tells monitoring agents which resources pods have. kubelet: apis/podresources/server_v1.go */
export function podResourcesLister({ declaredPods, listedPods, devices, podResources }: Deps): PodResourcesLister {
  const ofContainer = (pod: Pod, { name }: Container): object => {
    const { uid } = pod.metadata;
    const { cpus = [], memory = [] } = podResources?.resourcesOf(uid, name) ?? {};
    return {
      name,
      devices: (devices?.allocated(uid, name) ?? []).map(deviceMessage),
      cpuIds: cpus.map(BigInt),
      memory: memory.map(memoryMessage),
    };
  };
  const ofPod = (pod: Pod): PodResourcesMessage => ({
    name: pod.metadata.name,
    namespace: pod.metadata.namespace,
    containers: [...sidecarsOf(pod.spec), ...pod.spec.containers].map((container) => ofContainer(pod, container)),
  });
  return {
    list: () => {
      devices?.prune();
      return listedPods().map(ofPod);
    },
    getAllocatableResources: () => {
      const { cpus = [], memory = [] } = podResources?.allocatable() ?? {};
      return {
        devices: (devices?.allocatable() ?? []).map(deviceMessage),
        cpuIds: cpus.map(BigInt),
        memory: memory.map(memoryMessage),
      };
    },
    get: ({ podName, podNamespace }) => {
      const pod = declaredPods().find(
        ({ metadata }) => metadata.name === podName && metadata.namespace === podNamespace,
      );
      if (pod === undefined) throw new Error(`pod ${podName} in namespace ${podNamespace} not found`);
      devices?.prune();
      return ofPod(pod);
    },
  };
}

const deviceMessage = ({ resource, id, node }: DeviceOnNode) => ({
  resourceName: resource,
  deviceIds: [id],
  ...(node !== undefined && { topology: { nodes: [{ ID: BigInt(node) }] } }),
});

const memoryMessage = ({ type, size, numaAffinity }: MemoryBlock) => ({
  memoryType: type,
  size,
  topology: { nodes: numaAffinity.map((node) => ({ ID: BigInt(node) })) },
});
