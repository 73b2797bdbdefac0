import { nearestName } from '../../api/text/nearest-name.ts';
import { isReplicatedKind, isWorkloadKind, workloadKey, type WorkloadName } from '../../api/values/workload.ts';
import { resolveKind } from '../../engine/applied/applied-object.ts';
import type { EngineSnapshot, PodSnapshot, WorkloadSnapshot } from '../../engine/view/snapshot.ts';
import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';
import { kindAndName } from './kind-and-name.ts';
import { notFound } from './not-found.ts';

/**
 * Returns the workload that a word such as `deploy/web`, `deployment.apps/web` or `web` means. Throws a `UserError` if
 * none does, or several.
 */
export function findWorkload(snapshot: EngineSnapshot, word: string, namespace: string | undefined): WorkloadSnapshot {
  const found = matchWorkload(snapshot, word, namespace);
  if (found !== undefined) return found;
  throw unknownWord(snapshot, word);
}

/** The kind and name of a workload in a word such as `deploy/web`. Returns undefined if it has no kind of workload. */
export function workloadNamed(word: string): Pick<WorkloadName, 'kind' | 'name'> | undefined {
  const { kind = '', name = '' } = kindAndName(word) ?? {};
  return isWorkloadKind(kind) ? { kind, name } : undefined;
}

/** The names of the workloads that the agent has, with the Jobs that CronJobs run. */
export function knownWorkloads({
  workloads = [],
}: {
  workloads?: readonly (WorkloadName & Pick<WorkloadSnapshot, 'cronJob'>)[];
}): WorkloadName[] {
  const runs = workloads.flatMap(({ namespace, cronJob }) =>
    (cronJob?.jobs ?? []).map(({ name }) => ({ kind: 'Job' as const, namespace, name })),
  );
  return [...workloads, ...runs];
}

/**
 * Returns the workload that `deploy/web` or `deployment.apps/web` means. Returns undefined if the agent has none, or if
 * the word has no kind of workload. Throws a `UserError` if several namespaces have one, or if the word would mean a
 * pod of another workload: `deploy/web-1` is not the second pod of `deploy/web`.
 */
export function workloadAt(
  snapshot: EngineSnapshot,
  word: string,
  namespace: string | undefined,
): WorkloadSnapshot | undefined {
  if (workloadNamed(word) === undefined) return undefined;
  const found = matchWorkload(snapshot, word, namespace);
  if (found === undefined && isPodOfOther(snapshot, word, namespace)) throw unknownWord(snapshot, word);
  return found;
}

function isPodOfOther({ workloads = [], nodeName, pods }: EngineSnapshot, word: string, namespace?: string): boolean {
  const [kind = '', name = ''] = word.split('/');
  // A namespace may have the name of a kind.
  if (pods.some(({ pod }) => pod.metadata.namespace === kind)) return false;
  return workloads.some(
    (workload) =>
      isReplicatedKind(workload.kind) &&
      (namespace === undefined || workload.namespace === namespace) &&
      workload.pods.some((pod) => pod === name || pod === `${name}-${nodeName}`),
  );
}

/** A workload and the names of its pods. */
export type OwnerOfPods = Pick<WorkloadSnapshot, 'namespace' | 'pods'>;

/** The pods of a workload that the agent runs now, in the workload's order. */
export function podsOfWorkload({ pods }: EngineSnapshot, workload: OwnerOfPods): PodSnapshot[] {
  return workload.pods.flatMap(
    (name) =>
      pods.find(
        ({ pod: { metadata }, replacedBy }) =>
          replacedBy === undefined && metadata.namespace === workload.namespace && metadata.name === name,
      ) ?? [],
  );
}

/** The pods of one run of a CronJob, whose names begin with that of its Job. */
export function podsOfRun(snapshot: EngineSnapshot, cronJob: OwnerOfPods, job: string): PodSnapshot[] {
  return podsOfWorkload(snapshot, cronJob).filter(({ pod }) => pod.metadata.name.startsWith(`${job}-`));
}

/** The pods of the workload that `workloadAt` finds, or of a run of a CronJob. Returns undefined for other words. */
export function podsOfWord(
  snapshot: EngineSnapshot,
  word: string,
  namespace: string | undefined,
): PodSnapshot[] | undefined {
  const workload = workloadAt(snapshot, word, namespace);
  if (workload !== undefined) return podsOfWorkload(snapshot, workload);
  const named = workloadNamed(word);
  const cronJob = (snapshot.workloads ?? []).find(
    (one) =>
      named?.kind === 'Job' &&
      (namespace === undefined || one.namespace === namespace) &&
      one.cronJob?.jobs.some(({ name }) => name === named.name),
  );
  return cronJob && named && podsOfRun(snapshot, cronJob, named.name);
}

/** The error of a word that means no workload. It may be only a name. */
function unknownWord(snapshot: EngineSnapshot, word: string): UserError {
  const known = knownWorkloads(snapshot);
  const named = workloadNamed(word);
  if (named !== undefined) return notFound(named, known);
  const near = nearestName(
    word,
    known.map(({ name }) => name),
  );
  return new UserError(`no workload "${visible(word)}" is declared`, {
    hint:
      near === undefined ? 'List them: kubelet-ts get deploy,sts,ds,rs,job,cronjob' : `Did you mean ${visible(near)}?`,
  });
}

function matchWorkload(
  { workloads = [] }: EngineSnapshot,
  word: string,
  namespace: string | undefined,
): WorkloadSnapshot | undefined {
  const [name = '', kind] = word.split('/').reverse();
  const wantedKind = kind === undefined ? undefined : resolveKind(kind);
  const found = workloads.filter(
    (workload) =>
      workload.name === name &&
      (kind === undefined || workload.kind === wantedKind) &&
      (namespace === undefined || workload.namespace === namespace),
  );
  if (found.length < 2) return found[0];
  throw new UserError(`several workloads match "${visible(word)}": ${found.map(workloadKey).join(', ')}`, {
    hint: 'Name its kind, and its namespace with -n.',
  });
}
