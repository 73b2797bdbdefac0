import type { Manifests } from '../../api/objects/load-manifests.ts';
import type { Pod } from '../../api/types.ts';
import { declaredPods, isReplicated } from '../../api/values/declared-pods.ts';
import { podFullName } from '../../api/values/pod-names.ts';
import { declaredOrdinals, replicaPod } from '../../api/values/replica-pod.ts';
import { type DeclaredWorkload, type ReplicatedWorkload, workloadKey } from '../../api/values/workload.ts';
import { podUIDHash } from '../../engine/config/load-manifest.ts';
import type { WantedPod } from '../../engine/config/wanted-pods.ts';
import { revisionName } from '../../engine/operations/pod-record.ts';
import type { StatusOfPod } from '../../engine/workloads/compute-job.ts';
import { extraOrdinals } from '../../engine/workloads/compute-replicas.ts';
import { decideJobs } from '../../engine/workloads/decide-jobs.ts';
import { effectiveWorkload, keepsRevision, withoutEnded } from '../../engine/workloads/effective-workload.ts';
import { emptyWorkloadRecord, type WorkloadRecord } from '../../engine/workloads/records/workload-record.ts';
import type { DesiredNode } from './node-state.ts';

/** What is known about the workloads of a node. */
export interface KnownWorkloads {
  /** By their keys. */
  records: ReadonlyMap<string, WorkloadRecord>;
  /** As the agent last read them, by their keys. */
  declared: ReadonlyMap<string, DeclaredWorkload>;
  statusOf: StatusOfPod;
  /** Milliseconds since the epoch. */
  now: number;
}

type Declarations = Pick<Manifests, 'pods' | 'workloads' | 'derivedUIDs'>;

/** Returns the declarations with the pods that the agent would run of their workloads, by its records. */
export function withWorkloadPods<T extends Declarations>(
  declarations: T,
  known: KnownWorkloads,
): T & Pick<DesiredNode, 'extraPods' | 'rollOuts'> {
  const { pods, workloads = [], derivedUIDs = [] } = declarations;
  const declared = new Set(workloads.flatMap((workload) => declaredPods(workload, podUIDHash)).map(fullName));
  const others = pods.filter((pod) => !declared.has(fullName(pod)));
  const taken = new Set(others.map(fullName));
  const wanted = workloads
    .flatMap((workload) => wantedPods(withKnownTemplate(workload, known), known))
    .filter(({ pod }) => !taken.has(fullName(pod)));
  const extra = workloads.flatMap((workload) => extraPods(workload, known, taken));
  return {
    ...declarations,
    extraPods: new Map(extra),
    pods: [...others, ...wanted.map(({ pod }) => pod)],
    derivedUIDs: [...derivedUIDs, ...wanted.flatMap(({ pod, isOwned }) => (isOwned ? [pod.metadata.uid] : []))],
    rollOuts: new Map(
      wanted.flatMap(({ pod, keepsRevision: why }) => (why === undefined ? [] : [[fullName(pod), why]])),
    ),
  };
}

/** By full name, why pods that an update adds may run. They are named after those that the agent wants without it. */
function extraPods(
  declared: DeclaredWorkload,
  { declared: earlier, records }: KnownWorkloads,
  taken: ReadonlySet<string>,
): [fullName: string, why: string][] {
  if (!isReplicated(declared)) return [];
  const key = workloadKey(declared);
  const effective = (workload: ReplicatedWorkload): ReplicatedWorkload => {
    const record = records.get(key) ?? emptyWorkloadRecord(workload);
    return effectiveWorkload(workload, withoutEnded(workload, record));
  };
  const workload = effective(declared);
  const before = earlier.get(key);
  const replicas = Math.max(workload.replicas, before && isReplicated(before) ? effective(before).replicas : 0);
  const nameOf = (ordinal: number): string => fullName(replicaPod(workload, ordinal, podUIDHash));
  return extraOrdinals(workload, workload.firstOrdinal + replicas, (ordinal) => taken.has(nameOf(ordinal))).map(
    (ordinal) => [
      nameOf(ordinal),
      `it helps with the rollout of ${workload.kind} ${workload.name}, and stops at its end`,
    ],
  );
}

const fullName = ({ metadata }: Pod): string => podFullName(metadata);

function wantedPods(declared: DeclaredWorkload, { records, statusOf, now }: KnownWorkloads): readonly WantedPod[] {
  const record = records.get(workloadKey(declared)) ?? emptyWorkloadRecord(declared);
  if (!isReplicated(declared)) {
    const time = { now, since: (stamp: number) => now - stamp };
    const known = { record, earlier: undefined, ownerOf: () => undefined, podOf: () => undefined, statusOf, time };
    return decideJobs(declared, known).pods;
  }
  const workload = effectiveWorkload(declared, withoutEnded(declared, record));
  const { firstOrdinal, isPaused, update } = workload;
  return declaredOrdinals(workload).map((ordinal) => ({
    pod: replicaPod(workload, ordinal, podUIDHash),
    isOwned: true,
    ...((isPaused || update.type === 'OnDelete' || ordinal - firstOrdinal < update.partition) && {
      keepsRevision: keepsRevision(workload),
    }),
  }));
}

/** The UID of a template depends on the path of its manifest, and records refer to the path that the agent reads. */
function withKnownTemplate(workload: DeclaredWorkload, { declared }: KnownWorkloads): DeclaredWorkload {
  const template = declared.get(workloadKey(workload))?.template;
  if (template === undefined || revisionName(template) !== revisionName(workload.template)) return workload;
  return { ...workload, template };
}
