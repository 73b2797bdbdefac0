import type { Pod } from '../../api/types.ts';
import { type ApiEngine, containerStatuses, podsOf } from './api-engine.ts';

/** kubelet: server/server.go encodePods */
export function podList(engine: Pick<ApiEngine, 'snapshot'>): object {
  return listOf(
    podsOf(engine).map(({ metadata, spec, status }) => ({
      metadata: withCreation(metadata),
      spec,
      status: status ?? {},
    })),
  );
}

/** Pods with running containers, and those containers alone. kubelet: server/server.go getRunningPods */
export function runningPodList(engine: Pick<ApiEngine, 'snapshot'>): object {
  const items = podsOf(engine).flatMap((pod) => {
    const running = new Set(
      containerStatuses(pod).flatMap(({ name, state }) => (state?.running === undefined ? [] : [name])),
    );
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].filter(({ name }) =>
      running.has(name),
    );
    if (containers.length === 0) return [];
    const { name, namespace, uid } = pod.metadata;
    return {
      metadata: withCreation({ name, namespace, uid }),
      spec: {
        containers: containers.map((container) => ({ name: container.name, image: container.image, resources: {} })),
      },
      status: {},
    };
  });
  return listOf(items);
}

const listOf = (items: readonly object[]): object => ({
  kind: 'PodList',
  apiVersion: 'v1',
  metadata: {},
  // As Go writes an empty list.
  items: items.length === 0 ? null : items,
});

const withCreation = (metadata: Partial<Pod['metadata']>): object => ({ creationTimestamp: null, ...metadata });
