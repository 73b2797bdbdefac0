import { parseIndexRanges } from '../values/index-ranges.ts';
import type { DeclaredCronJob, DeclaredJob, JobRules } from '../values/job.ts';
import type { Pod } from '../types.ts';
import { specWithTemplate, type Workload, type WorkloadSpec } from './workload-pod.ts';

/**
 * Returns the defaulted Job, or the CronJob as one immediate run. `template` is its only pod.
 * kubelet: pkg/apis/batch/v1/defaults.go
 */
export function declaredJob(workload: Workload, template: Pod): DeclaredJob {
  const { namespace } = template.metadata;
  const rules = rulesOf(specWithTemplate(workload).spec);
  const isSuspended = rules.isSuspended || workload.spec?.suspend === true;
  return { kind: 'Job', namespace, name: nameOf(workload), rules: { ...rules, isSuspended }, template };
}

/** Returns the defaulted CronJob. `template` is the pod of a Job with its name. */
export function declaredCronJob(workload: Workload, template: Pod): DeclaredCronJob {
  const { spec = {} } = workload;
  const { concurrencyPolicy = '', schedule = '', startingDeadlineSeconds, timeZone } = spec;
  return {
    kind: 'CronJob',
    namespace: template.metadata.namespace,
    name: nameOf(workload),
    schedule,
    ...(timeZone !== undefined && { timeZone }),
    concurrencyPolicy: concurrencyPolicy === 'Forbid' || concurrencyPolicy === 'Replace' ? concurrencyPolicy : 'Allow',
    ...(startingDeadlineSeconds !== undefined && { startingDeadlineSeconds }),
    isSuspended: spec.suspend === true,
    successfulJobsHistoryLimit: spec.successfulJobsHistoryLimit ?? 3,
    failedJobsHistoryLimit: spec.failedJobsHistoryLimit ?? 1,
    rules: rulesOf(specWithTemplate(workload).spec),
    template,
  };
}

const nameOf = ({ metadata }: Workload): string => metadata?.name ?? '';

/** Highest limit, which stands for none. */
const unlimited = 2 ** 31 - 1;

function rulesOf(spec: WorkloadSpec): JobRules {
  const { parallelism, backoffLimitPerIndex, maxFailedIndexes, activeDeadlineSeconds, ttlSecondsAfterFinished } = spec;
  // Without either, one pod must succeed. With only the parallelism, the pods share a queue.
  const completions = spec.completions ?? (parallelism === undefined ? 1 : undefined);
  return {
    ...(completions !== undefined && { completions }),
    parallelism: parallelism ?? 1,
    isIndexed: spec.completionMode === 'Indexed',
    backoffLimit: spec.backoffLimit ?? (backoffLimitPerIndex === undefined ? 6 : unlimited),
    ...(backoffLimitPerIndex !== undefined && { backoffLimitPerIndex }),
    ...(maxFailedIndexes !== undefined && { maxFailedIndexes }),
    podFailurePolicy: (spec.podFailurePolicy?.rules ?? []).map((rule) => ({
      ...rule,
      ...(rule.onPodConditions && {
        onPodConditions: rule.onPodConditions.map((one) => ({ ...one, status: one.status || 'True' })),
      }),
    })),
    successPolicy: (spec.successPolicy?.rules ?? []).map(({ succeededIndexes, succeededCount }) => ({
      ...(succeededIndexes !== undefined && { indexes: parseIndexRanges(succeededIndexes) ?? [] }),
      ...(succeededCount !== undefined && { count: succeededCount }),
    })),
    ...(activeDeadlineSeconds !== undefined && { activeDeadlineSeconds }),
    ...(ttlSecondsAfterFinished !== undefined && { ttlSecondsAfterFinished }),
    isSuspended: spec.suspend === true,
  };
}
