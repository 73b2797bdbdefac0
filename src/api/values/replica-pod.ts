import type { Pod } from '../types.ts';
import { configAnnotations } from './config-annotations.ts';
import type { PersistentVolumeClaim } from './persistent-volume.ts';
import type { ReplicatedWorkload } from './workload.ts';

/** The label with the name of a StatefulSet's pod, without the node. */
export const podNameLabel = 'statefulset.kubernetes.io/pod-name';

type Named = Pick<ReplicatedWorkload, 'kind' | 'name' | 'firstOrdinal'>;

/**
 * Returns the name of a workload's pod, without the node: `db-0` and `db-1` in a StatefulSet, else `web` and `web-1`.
 * So a count that changes from or to one renames no pod.
 */
export function replicaName({ kind, name, firstOrdinal }: Named, ordinal: number): string {
  return kind !== 'StatefulSet' && ordinal === firstOrdinal ? name : `${name}-${ordinal}`;
}

/**
 * Returns the pod of a workload with this ordinal. Its UID follows from the first pod's, so it changes with the
 * template only. `hash` returns 32 hex digits.
 */
export function replicaPod(workload: ReplicatedWorkload, ordinal: number, hash: (text: string) => string): Pod {
  const { template, firstOrdinal } = workload;
  if (ordinal === firstOrdinal) return template;
  const { metadata, spec } = template;
  const uid = hash(`${metadata.uid} ${ordinal}`);
  const name = `${replicaName(workload, ordinal)}-${spec.nodeName?.toLowerCase() ?? ''}`;
  const annotations = { ...metadata.annotations, [configAnnotations.hash]: uid };
  const pod = { ...template, metadata: { ...metadata, uid, name, annotations }, spec: withClaimsOf(workload, ordinal) };
  return withIdentity(pod, workload, ordinal);
}

/**
 * Gives a StatefulSet's pod the name and ordinal that it has in a cluster, without the name of the node, because
 * programs find each other by them. kubelet: pkg/controller/statefulset/stateful_set_utils.go updateIdentity
 */
export function withIdentity(pod: Pod, named: Named, ordinal: number): Pod {
  if (named.kind !== 'StatefulSet') return pod;
  const hostname = replicaName(named, ordinal);
  const labels = { ...pod.metadata.labels, [podNameLabel]: hostname, 'apps.kubernetes.io/pod-index': `${ordinal}` };
  return { ...pod, metadata: { ...pod.metadata, labels }, spec: { ...pod.spec, hostname } };
}

/** Returns the claims of the pod with this ordinal. */
export function replicaClaims(workload: ReplicatedWorkload, ordinal: number): PersistentVolumeClaim[] {
  return workload.claims.map((claim) => ({ ...claim, name: claimOf(workload, claim.name, ordinal) }));
}

/** Returns the declared claims: also those of the first pod of a StatefulSet that is scaled to zero. */
export function declaredClaims(workload: ReplicatedWorkload): PersistentVolumeClaim[] {
  const ordinals = [...new Set([workload.firstOrdinal, ...declaredOrdinals(workload)])];
  return ordinals.flatMap((ordinal) => replicaClaims(workload, ordinal));
}

/** Returns the ordinals of the pods that the manifest declares. */
export function declaredOrdinals({ replicas, firstOrdinal }: ReplicatedWorkload): number[] {
  return Array.from({ length: replicas }, (_, index) => firstOrdinal + index);
}

function withClaimsOf(workload: ReplicatedWorkload, ordinal: number): Pod['spec'] {
  const { template, claims } = workload;
  if (claims.length === 0) return template.spec;
  const names = new Set(claims.map(({ name }) => name));
  const volumes = (template.spec.volumes ?? []).map((volume) => {
    const claim = volume.persistentVolumeClaim;
    if (claim === undefined || !names.has(claim.claimName)) return volume;
    return { ...volume, persistentVolumeClaim: { ...claim, claimName: claimOf(workload, claim.claimName, ordinal) } };
  });
  return { ...template.spec, volumes };
}

/** `data-db-0` becomes `data-db-1`. */
function claimOf(workload: ReplicatedWorkload, first: string, ordinal: number): string {
  const stem = first.slice(0, -replicaName(workload, workload.firstOrdinal).length);
  return stem + replicaName(workload, ordinal);
}
