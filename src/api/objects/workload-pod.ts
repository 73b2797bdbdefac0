import type { JobSpec } from 'kubernetes-types/batch/v1.js';
import type { PersistentVolumeClaim as RawClaim, PodSpec } from 'kubernetes-types/core/v1.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { CountOrPercent } from '../values/workload.ts';
import { replicaName } from '../values/replica-pod.ts';
import type { RawPod } from '../types.ts';

/** A decoded workload of any kind: the fields that a node alone uses. */
export interface Workload {
  kind: 'CronJob' | 'DaemonSet' | 'Deployment' | 'Job' | 'ReplicaSet' | 'ReplicationController' | 'StatefulSet';
  metadata?: ObjectMeta;
  spec?: WorkloadSpec;
}

export type WorkloadSpec = Partial<Omit<JobSpec, 'selector'>> & {
  /** Of a CronJob, as `schedule` and others. */
  concurrencyPolicy?: string;
  failedJobsHistoryLimit?: number;
  jobTemplate?: { spec?: WorkloadSpec };
  minReadySeconds?: number;
  /** Of a StatefulSet. */
  ordinals?: { start?: number };
  paused?: boolean;
  /** Of a StatefulSet. */
  podManagementPolicy?: string;
  progressDeadlineSeconds?: number;
  replicas?: number;
  schedule?: string;
  /** In a ReplicationController, the labels themselves. */
  selector?: JobSpec['selector'] | Record<string, string>;
  /** Of a StatefulSet. */
  serviceName?: string;
  startingDeadlineSeconds?: number;
  /** Of a Deployment. */
  strategy?: WrittenStrategy;
  successfulJobsHistoryLimit?: number;
  timeZone?: string;
  /** Of a DaemonSet or a StatefulSet. */
  updateStrategy?: WrittenStrategy;
  volumeClaimTemplates?: readonly RawClaim[];
};

export interface WrittenStrategy {
  type?: string;
  rollingUpdate?: { maxSurge?: CountOrPercent; maxUnavailable?: CountOrPercent; partition?: number };
}

/** The spec with the pod template, and its field path. */
export function specWithTemplate({ kind, spec = {} }: Workload): { spec: WorkloadSpec; path: string } {
  if (kind === 'CronJob') return { spec: spec.jobTemplate?.spec ?? {}, path: 'spec.jobTemplate.spec' };
  return { spec, path: 'spec' };
}

/** Returns the one pod that a workload runs here: its name, and the pod template as written. */
export function workloadPod(workload: Workload): RawPod {
  const { namespace } = workload.metadata ?? {};
  const name = podNameOf(workload);
  const { template } = specWithTemplate(workload).spec;
  const { labels, annotations } = template?.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    ...(template?.spec && { spec: withClaims(template.spec, workload) }),
  };
}

/** The name of its first pod. */
function podNameOf({ kind, metadata, spec }: Workload): string | undefined {
  const { name } = metadata ?? {};
  const firstOrdinal = spec?.ordinals?.start ?? 0;
  const isReplicated = kind !== 'Job' && kind !== 'CronJob';
  return isReplicated && name !== undefined ? replicaName({ kind, name, firstOrdinal }, firstOrdinal) : name;
}

/**
 * Name of the claim that a StatefulSet's pod gets for a template. It contains the pod's name without the node, because
 * a node with another name must find the data again.
 */
export function claimNameOf(workload: Workload, template: RawClaim): string {
  return `${template.metadata?.name ?? ''}-${podNameOf(workload) ?? ''}`;
}

/**
 * A template replaces a volume of the same name. kubelet: pkg/controller/statefulset/stateful_set_utils.go
 * updateStorage
 */
function withClaims(spec: PodSpec, workload: Workload): PodSpec {
  const templates = workload.kind === 'StatefulSet' ? (workload.spec?.volumeClaimTemplates ?? []) : [];
  if (templates.length === 0) return spec;
  const names = new Set(templates.map(({ metadata }) => metadata?.name));
  const claimed = templates.map((template) => ({
    name: template.metadata?.name ?? '',
    persistentVolumeClaim: { claimName: claimNameOf(workload, template) },
  }));
  return { ...spec, volumes: [...claimed, ...(spec.volumes ?? []).filter(({ name }) => !names.has(name))] };
}
