import type { PodFailurePolicyRule } from 'kubernetes-types/batch/v1.js';
import type { PodStatus } from '../../api/types.ts';
import { initAndRegularStatuses } from '../../api/values/container-statuses.ts';
import { commonIndexes, countIndexes, type IndexRanges } from '../../api/values/index-ranges.ts';
import type { SuccessRule } from '../../api/values/job.ts';

/** What a rule for failed pods asks for. */
export interface FailurePolicyMatch {
  action: string;
  message: string;
}

/**
 * Returns the first rule that a failed pod matches. Returns undefined if none does.
 * kubelet: pkg/controller/job/pod_failure_policy.go matchPodFailurePolicy
 */
export function matchFailurePolicy(
  rules: readonly PodFailurePolicyRule[],
  pod: { namespace: string; name: string; status: PodStatus },
): FailurePolicyMatch | undefined {
  for (const [index, { action, onExitCodes, onPodConditions = [] }] of rules.entries()) {
    const rule = `${action} rule at index ${index}`;
    if (onExitCodes !== undefined) {
      const { containerName, operator, values } = onExitCodes;
      const exited = initAndRegularStatuses(pod.status).find(({ name, state }) => {
        const code = state?.terminated?.exitCode ?? 0;
        const isInRule = containerName === undefined || containerName === name;
        return isInRule && code !== 0 && values.includes(code) === (operator === 'In');
      });
      if (exited === undefined) continue;
      const code = exited.state?.terminated?.exitCode ?? 0;
      const message = `Container ${exited.name} for pod ${pod.namespace}/${pod.name} failed with exit code ${code} matching ${rule}`;
      return { action, message };
    }
    const condition = (pod.status.conditions ?? []).find(({ type, status }) =>
      onPodConditions.some((wanted) => wanted.type === type && wanted.status === status),
    );
    if (condition === undefined) continue;
    const message = `Pod ${pod.namespace}/${pod.name} has condition ${condition.type} matching ${rule}`;
    return { action, message };
  }
  return undefined;
}

/**
 * Returns the number of the first rule for success that is met. Returns undefined if none is.
 * kubelet: pkg/controller/job/success_policy.go matchSuccessPolicy
 */
export function matchSuccessPolicy(rules: readonly SuccessRule[], succeeded: IndexRanges): number | undefined {
  const index = rules.findIndex(({ indexes, count }) => {
    const met = countIndexes(indexes === undefined ? succeeded : commonIndexes(indexes, succeeded));
    return met >= (count ?? countIndexes(indexes ?? []));
  });
  return index === -1 ? undefined : index;
}
