import type { JobSpec } from 'kubernetes-types/batch/v1.js';
import type { PodSpec } from 'kubernetes-types/core/v1.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { RawPod } from '../types.ts';

/** A decoded workload of any kind: the fields that a node alone uses. */
export interface Workload {
  kind: 'CronJob' | 'DaemonSet' | 'Deployment' | 'Job' | 'ReplicaSet' | 'ReplicationController' | 'StatefulSet';
  metadata?: ObjectMeta;
  spec?: WorkloadSpec;
}

export type WorkloadSpec = Partial<Omit<JobSpec, 'selector'>> & {
  jobTemplate?: { spec?: WorkloadSpec };
  replicas?: number;
  schedule?: string;
  /** In a ReplicationController, the labels themselves. */
  selector?: JobSpec['selector'] | Record<string, string>;
  volumeClaimTemplates?: readonly unknown[];
};

/** The spec with the pod template, and its field path. */
export function specWithTemplate({ kind, spec = {} }: Workload): { spec: WorkloadSpec; path: string } {
  if (kind === 'CronJob') return { spec: spec.jobTemplate?.spec ?? {}, path: 'spec.jobTemplate.spec' };
  return { spec, path: 'spec' };
}

/** Returns the one pod that a workload runs here: its name, and the pod template as written. */
export function workloadPod(workload: Workload): RawPod {
  const { name, namespace } = workload.metadata ?? {};
  const { activeDeadlineSeconds, template } = specWithTemplate(workload).spec;
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
    ...(template?.spec && { spec: withDeadline(template.spec, activeDeadlineSeconds) }),
  };
}

/** Applies the deadline of a Job to its one pod, unless the pod has an earlier one. */
function withDeadline(spec: PodSpec, seconds: number | undefined): PodSpec {
  if (seconds === undefined || seconds >= (spec.activeDeadlineSeconds ?? Infinity)) return spec;
  return { ...spec, activeDeadlineSeconds: seconds };
}
