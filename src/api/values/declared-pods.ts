import type { Pod } from '../types.ts';
import { type ConfigObject, configObjectKey } from './config-object.ts';
import { jobPod, type UIDHash } from './job-pod.ts';
import { declaredClaims, declaredOrdinals, replicaPod } from './replica-pod.ts';
import type { DeclaredWorkload, ReplicatedWorkload } from './workload.ts';

/** A list names only the first pods of a Job with many. */
const maxJobPods = 100;

/** Returns the pods that a manifest declares by a workload. A CronJob declares none: its runs have other names. */
export function declaredPods(workload: DeclaredWorkload, hash: UIDHash): Pod[] {
  switch (workload.kind) {
    case 'CronJob':
      return [];
    case 'Job': {
      const { completions, isSuspended, parallelism } = workload.rules;
      const length = isSuspended || parallelism === 0 ? 0 : Math.min(completions ?? parallelism, maxJobPods);
      return Array.from({ length }, (_, slot) => jobPod(workload, { slot, attempt: 0 }, hash));
    }
    case 'DaemonSet':
    case 'Deployment':
    case 'ReplicaSet':
    case 'ReplicationController':
    case 'StatefulSet':
      return declaredOrdinals(workload).map((ordinal) => replicaPod(workload, ordinal, hash));
  }
}

interface Declared {
  pods: readonly Pod[];
  workloads?: readonly DeclaredWorkload[];
  configObjects: readonly ConfigObject[];
}

/** Returns declarations without some of their workloads and the pods and claims of these. */
export function withoutWorkloads<T extends Declared>(declared: T, left: readonly DeclaredWorkload[], hash: UIDHash): T {
  if (left.length === 0) return declared;
  const claims = new Set(left.filter(isReplicated).flatMap(declaredClaims).map(configObjectKey));
  const uids = new Set(left.flatMap((workload) => declaredPods(workload, hash)).map(({ metadata }) => metadata.uid));
  return {
    ...declared,
    pods: declared.pods.filter(({ metadata }) => !uids.has(metadata.uid)),
    configObjects: declared.configObjects.filter((object) => !claims.has(configObjectKey(object))),
    workloads: (declared.workloads ?? []).filter((workload) => !left.includes(workload)),
  };
}

/** True for workloads that keep pods running. */
export function isReplicated(workload: DeclaredWorkload): workload is ReplicatedWorkload {
  return workload.kind !== 'CronJob' && workload.kind !== 'Job';
}
