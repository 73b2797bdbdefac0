import type { Pod } from '../types.ts';
import type { PersistentVolumeClaim } from '../values/persistent-volume.ts';
import { withIdentity } from '../values/replica-pod.ts';
import type { ReplicatedWorkload, UpdateStrategy } from '../values/workload.ts';
import type { Workload, WorkloadSpec } from './workload-pod.ts';

/** Returns the defaulted workload whose first pod is `template`. kubelet: pkg/apis/apps/v1/defaults.go */
export function replicatedWorkload(
  { metadata, spec = {} }: Workload,
  kind: ReplicatedWorkload['kind'],
  template: Pod,
  claims: readonly PersistentVolumeClaim[],
): ReplicatedWorkload {
  const name = metadata?.name ?? '';
  const firstOrdinal = kind === 'StatefulSet' ? (spec.ordinals?.start ?? 0) : 0;
  return {
    kind,
    namespace: template.metadata.namespace,
    name,
    replicas: kind === 'DaemonSet' ? 1 : (spec.replicas ?? 1),
    firstOrdinal,
    minReadySeconds: spec.minReadySeconds ?? 0,
    progressDeadlineSeconds: orDefault(spec.progressDeadlineSeconds, 600),
    isPaused: kind === 'Deployment' && spec.paused === true,
    update: updateStrategy(kind, spec),
    template: withIdentity(inService(template, spec), { kind, name, firstOrdinal }, firstOrdinal),
    claims,
  };
}

/** A StatefulSet's pods also have names below that of its Service, such as `db-0.db`. */
const inService = (pod: Pod, { serviceName: subdomain = '' }: WorkloadSpec): Pod =>
  subdomain === '' ? pod : { ...pod, spec: { ...pod.spec, subdomain } };

const orDefault = (value: number | undefined, byDefault: number): number =>
  value === undefined || value === 0 ? byDefault : value;

function updateStrategy(kind: ReplicatedWorkload['kind'], spec: WorkloadSpec): UpdateStrategy {
  const { type, rollingUpdate } = spec.strategy ?? spec.updateStrategy ?? {};
  const { maxSurge, maxUnavailable, partition = 0 } = rollingUpdate ?? {};
  const onDelete = type === 'OnDelete' ? type : 'RollingUpdate';
  const order = { type: 'RollingUpdate' as const, partition, isDescending: false, isOrdered: false };
  switch (kind) {
    case 'StatefulSet':
      return {
        type: onDelete,
        maxSurge: 0,
        maxUnavailable: maxUnavailable ?? 1,
        partition,
        isDescending: true,
        isOrdered: spec.podManagementPolicy !== 'Parallel',
      };
    case 'Deployment':
      if (type === 'Recreate') return { ...order, type, maxSurge: 0, maxUnavailable: '100%' };
      if (maxSurge === undefined && maxUnavailable === undefined) return order;
      return { ...order, maxSurge: maxSurge ?? '25%', maxUnavailable: maxUnavailable ?? '25%' };
    case 'DaemonSet':
      return { ...order, type: onDelete, maxSurge: maxSurge ?? 0, maxUnavailable: maxUnavailable ?? 1 };
    case 'ReplicaSet':
    case 'ReplicationController':
      return { ...order, maxSurge: maxSurge ?? 0, maxUnavailable: maxUnavailable ?? 1 };
  }
}
