import { isReplicated } from '../../api/values/declared-pods.ts';
import type { PodName } from '../../api/values/pod-names.ts';
import type { DeclaredWorkload, ReplicatedWorkload } from '../../api/values/workload.ts';

/** True if the workload may have a pod of this name: now, with another count, or in another run. */
export function ownsPod(workload: DeclaredWorkload, pod: PodName): boolean {
  if (isReplicated(workload)) return ordinalOf(workload, pod) !== undefined;
  const { kind, name, template } = workload;
  const node = template.metadata.name.slice(name.length);
  if (pod.namespace !== workload.namespace || !pod.name.startsWith(name) || !pod.name.endsWith(node)) return false;
  const between = pod.name.slice(name.length, pod.name.length - node.length);
  return (kind === 'Job' ? /^(-\d+)?$/ : /^-(\d+|run-[0-9a-z]+)(-\d+)?$/).test(between);
}

/** True if the CronJob of this name may run a Job of this name. */
export function ownsRun(cronJob: string, job: string): boolean {
  return job.startsWith(`${cronJob}-`) && /^(\d+|run-[0-9a-z]+)$/.test(job.slice(cronJob.length + 1));
}

/** Returns the ordinal that a pod of this name has in the workload. Returns undefined if the name is another one. */
export function ordinalOf(
  { template, name, kind, firstOrdinal }: ReplicatedWorkload,
  pod: PodName,
): number | undefined {
  const { namespace, name: first } = template.metadata;
  if (pod.namespace !== namespace) return undefined;
  if (pod.name === first) return firstOrdinal;
  const node = template.spec.nodeName?.toLowerCase() ?? '';
  if (!pod.name.startsWith(`${name}-`) || !pod.name.endsWith(`-${node}`)) return undefined;
  const digits = pod.name.slice(name.length + 1, -node.length - 1);
  if (!/^(0|[1-9]\d{0,9})$/.test(digits)) return undefined;
  return kind !== 'StatefulSet' && Number(digits) === firstOrdinal ? undefined : Number(digits);
}
