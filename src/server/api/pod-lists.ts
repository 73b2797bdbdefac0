import type { Container, PodStatus } from '../../api/types.ts';
import { criLabels } from '../../engine/container/labels.ts';
import { rpcText } from '../../cri/rpc-text.ts';
import { Refusal } from './answers.ts';
import { type ApiEngine, type ApiRuntime, podsOf } from './api-engine.ts';

/** kubelet: server/server.go encodePods */
export function podList(engine: Pick<ApiEngine, 'snapshot'>): object {
  return listOf(
    podsOf(engine).map(({ metadata, spec, status }) => ({
      metadata,
      spec: {
        ...spec,
        ...(spec.initContainers && { initContainers: spec.initContainers.map(withResources) }),
        containers: spec.containers.map(withResources),
      },
      status: withProbeTimes(status ?? {}),
    })),
  );
}

/** Go writes times that are not set as null. */
function withProbeTimes({ conditions, ...status }: PodStatus): object {
  if (conditions === undefined) return status;
  return { ...status, conditions: conditions.map((condition) => ({ lastProbeTime: null, ...condition })) };
}

const withResources = (container: Container): Container => ({ ...container, resources: container.resources ?? {} });

/**
 * Pods with a ready sandbox or running containers, newest first, with only those containers, of every kind. All of it
 * comes from the runtime, even the names of the images. kubelet: kubelet.go GetRunningPods, kuberuntime_manager.go
 * GetPods, container/runtime.go ToAPIPod
 */
export async function runningPodList(runtime: Pick<ApiRuntime, 'listContainers' | 'listPodSandbox'>): Promise<object> {
  const [{ items: sandboxes }, { containers }] = await Promise.all([
    runtime.listPodSandbox({ filter: { state: { state: 'SANDBOX_READY' } } }),
    runtime.listContainers({ filter: { state: { state: 'CONTAINER_RUNNING' } } }),
  ]).catch((error: unknown) => {
    throw new Refusal(500, rpcText(error));
  });
  const pods = new Map<string, RunningPod>();
  const podOf = (metadata: RunningPod['metadata']): RunningPod => {
    const pod = pods.get(metadata.uid) ?? { metadata, createdAt: 0n, containers: [] };
    pods.set(metadata.uid, pod);
    return pod;
  };
  for (const { metadata, createdAt } of sandboxes)
    if (metadata !== undefined) podOf(namesOf(metadata)).createdAt = createdAt;
  for (const { labels, metadata, image } of containers) {
    const {
      [criLabels.podUID]: uid,
      [criLabels.podName]: name = '',
      [criLabels.podNamespace]: namespace = '',
    } = labels;
    // A container without a pod UID is not from a kubelet.
    if (uid === undefined || metadata === undefined) continue;
    podOf({ name, namespace, uid }).containers.push({ name: metadata.name, image: image?.image ?? '', resources: {} });
  }
  const items = [...pods.values()].sort((a, b) => Number(b.createdAt - a.createdAt));
  return listOf(
    items.map((pod) => ({ metadata: pod.metadata, spec: { containers: orNull(pod.containers) }, status: {} })),
  );
}

interface RunningPod {
  metadata: { name: string; namespace: string; uid: string };
  /** Nanoseconds. 0 without a ready sandbox. */
  createdAt: bigint;
  containers: Container[];
}

const namesOf = ({ name, namespace, uid }: RunningPod['metadata']): RunningPod['metadata'] => ({
  name,
  namespace,
  uid,
});

const listOf = (items: readonly object[]): object => ({
  kind: 'PodList',
  apiVersion: 'v1',
  metadata: {},
  items: orNull(items),
});

/** Go writes an empty list as null. */
const orNull = <T>(items: readonly T[]): readonly T[] | null => (items.length === 0 ? null : items);
