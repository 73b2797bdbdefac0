import type { Container, Pod, PodStatus } from '../../api/types.ts';
import { criLabels } from '../../engine/container/labels.ts';
import { rpcText } from '../../rpc-text.ts';
import { Refusal } from './answers.ts';
import { type ApiEngine, type ApiRuntime, containerStatuses, podsOf } from './api-engine.ts';

/** kubelet: server/server.go encodePods */
export function podList(engine: Pick<ApiEngine, 'snapshot'>): object {
  return listOf(
    podsOf(engine).map(({ metadata, spec, status }) => ({
      metadata: withCreation(metadata),
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
 * Pods with a running sandbox or running containers, and those containers alone. kubelet: server/server.go
 * getRunningPods
 */
export async function runningPodList(
  engine: Pick<ApiEngine, 'snapshot'>,
  runtime: Pick<ApiRuntime, 'listPodSandbox'>,
): Promise<object> {
  const filter = { state: { state: 'SANDBOX_READY' } } as const;
  const { items: sandboxes } = await runtime.listPodSandbox({ filter }).catch((error: unknown) => {
    throw new Refusal(500, rpcText(error));
  });
  const withSandbox = new Set(sandboxes.map(({ labels }) => labels[criLabels.podUID]));
  const items = podsOf(engine).flatMap((pod) => {
    const running = new Set(
      containerStatuses(pod).flatMap(({ name, state }) => (state?.running === undefined ? [] : [name])),
    );
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers]
      .filter(({ name }) => running.has(name))
      .map(({ name, image }) => ({ name, image, resources: {} }));
    const { name, namespace, uid } = pod.metadata;
    if (containers.length === 0 && !withSandbox.has(uid)) return [];
    return [{ metadata: withCreation({ name, namespace, uid }), spec: { containers: orNull(containers) }, status: {} }];
  });
  return listOf(items);
}

const listOf = (items: readonly object[]): object => ({
  kind: 'PodList',
  apiVersion: 'v1',
  metadata: {},
  items: orNull(items),
});

/** Go writes an empty list as null. */
const orNull = <T>(items: readonly T[]): readonly T[] | null => (items.length === 0 ? null : items);

const withCreation = (metadata: Partial<Pod['metadata']>): object => ({ creationTimestamp: null, ...metadata });
