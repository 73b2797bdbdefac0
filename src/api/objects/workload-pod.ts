import type { JobSpec } from 'kubernetes-types/batch/v1.js';
import type { PodSpec } from 'kubernetes-types/core/v1.js';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';
import type { RawPod } from '../types.ts';

/** What a decoded workload of any kind may have, as far as a node alone looks at it. */
export interface Workload {
  kind: 'CronJob' | 'DaemonSet' | 'Deployment' | 'Job' | 'ReplicaSet' | 'ReplicationController' | 'StatefulSet';
  metadata?: ObjectMeta;
  spec?: WorkloadSpec;
}

export type WorkloadSpec = Partial<Omit<JobSpec, 'selector'>> & {
  jobTemplate?: { spec?: WorkloadSpec };
  replicas?: number;
  schedule?: string;
  /** A ReplicationController has the labels themselves. */
  selector?: JobSpec['selector'] | Record<string, string>;
  volumeClaimTemplates?: readonly unknown[];
};

/** The spec that has the template of the pod, and where it stands. */
export function specWithTemplate({ kind, spec = {} }: Workload): { spec: WorkloadSpec; path: string } {
  if (kind === 'CronJob') return { spec: spec.jobTemplate?.spec ?? {}, path: 'spec.jobTemplate.spec' };
  return { spec, path: 'spec' };
}

/** The one pod that a workload comes down to on a node alone: its name, and the pod of its template as it is written. */
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

/** The deadline of a Job is that of its one pod, if the pod has no earlier one. */
function withDeadline(spec: PodSpec, seconds: number | undefined): PodSpec {
  if (seconds === undefined || seconds >= (spec.activeDeadlineSeconds ?? Infinity)) return spec;
  return { ...spec, activeDeadlineSeconds: seconds };
}
