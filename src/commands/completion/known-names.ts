import { manifestKey } from '../../api/values/depends-on.ts';
import { podStatusText } from '../../api/values/pod-printer.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { resolvePods } from '../pod/resolve-pods.ts';

/** A completion candidate with its description. */
export interface Candidate {
  word: string;
  description?: string;
}

/** Pod names without the node name, or with the namespace if two pods have the same name. */
export function podNames({ pods }: EngineSnapshot, namespace: string | undefined): Candidate[] {
  const own = pods.filter(({ pod }) => namespace === undefined || pod.metadata.namespace === namespace);
  const described = new Map(own.map(({ pod, worker }) => [manifestKey(pod), podStatusText(pod, worker)]));
  const short = (key: string): string => key.slice(key.indexOf('/') + 1);
  const counts = new Map<string, number>();
  for (const key of described.keys()) counts.set(short(key), (counts.get(short(key)) ?? 0) + 1);
  return [...described].map(([key, description]) => ({
    word: counts.get(short(key)) === 1 ? short(key) : key,
    description,
  }));
}

export function namespaceNames({ pods }: EngineSnapshot): Candidate[] {
  return [...new Set(pods.map(({ pod }) => pod.metadata.namespace))].map((word) => ({ word }));
}

/** Containers of the pod, or of all pods if none is named yet. */
export function containerNames(snapshot: EngineSnapshot, reference: string | undefined): Candidate[] {
  const names = podsOf(snapshot, reference).flatMap(({ pod: { spec } }) => [
    ...spec.containers.map(({ name }) => name),
    ...(spec.initContainers ?? []).map(({ name }) => name),
    ...(spec.ephemeralContainers ?? []).map(({ name }) => name),
  ]);
  return [...new Set(names)].map((word) => ({ word }));
}

/** Like `containerNames`, for debug containers. */
export function ephemeralNames(snapshot: EngineSnapshot, reference: string | undefined): Candidate[] {
  const names = podsOf(snapshot, reference).flatMap(({ pod: { spec } }) =>
    (spec.ephemeralContainers ?? []).map(({ name }) => name),
  );
  return [...new Set(names)].map((word) => ({ word }));
}

function podsOf({ pods, nodeName }: EngineSnapshot, reference: string | undefined): EngineSnapshot['pods'] {
  return reference === undefined ? pods : resolvePods(pods, { pod: reference, nodeName }, ({ pod }) => pod.metadata);
}
