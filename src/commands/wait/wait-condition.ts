import { isReadyOrDone } from '../../api/values/pod-conditions.ts';
import { podStatusText } from '../../api/values/pod-printer.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { Pod } from '../../api/types.ts';
import type { PodName } from '../../api/values/pod-names.ts';
import { reasons } from '../../engine/view/reasons.ts';
import { workloadKey } from '../../api/values/workload.ts';
import type { EngineSnapshot, PodSnapshot, WorkloadSnapshot } from '../../engine/view/snapshot.ts';
import { isRolledOut } from '../workload/wait-for-roll-out.ts';
import { type JSONPath, parseJSONPath, valuesAt, valueText } from '../output/json-path.ts';

export const waitConditions = ['ready', 'completed', 'updated', 'deleted'] as const;
export type WaitCondition = (typeof waitConditions)[number];

/** A value in the pod, as wanted by `jsonpath=…` and by `condition=…` of another condition than Ready. */
export interface FieldCondition {
  /** As written. */
  text: string;
  path: JSONPath;
  /** Undefined: any value that is not empty. */
  value: string | undefined;
}

/**
 * A condition from its text. Accepts kubectl's forms too, such as `jsonpath={.status.phase}=Running` and `delete`.
 * Returns undefined if the text is not a condition. Throws a `UserError` if its path is not a JSONPath.
 */
export function parseCondition(text: string): WaitCondition | FieldCondition | undefined {
  // Of pods, of Deployments (whose pod is then Ready), and of Jobs.
  if (/^condition=(ready|available)(=true)?$/i.test(text)) return 'ready';
  if (/^condition=complete(=true)?$/i.test(text)) return 'completed';
  if (text === 'delete') return 'deleted';
  const [, type, wanted = 'True'] = /^condition=([\w./-]+)(?:=(\w+))?$/.exec(text) ?? [];
  if (type !== undefined) {
    const value = wanted.slice(0, 1).toUpperCase() + wanted.slice(1).toLowerCase();
    return { text, path: parseJSONPath(`.status.conditions[?(@.type=="${type}")].status`), value };
  }
  const [, path, value] = /^jsonpath=(\{.*\}|[^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (path !== undefined) return { text, path: parseJSONPath(path), value };
  return waitConditions.find((condition) => condition === text);
}

/**
 * True if the pod meets the condition. `updated` means that only the currently declared manifest runs. All conditions
 * but `deleted` concern that manifest, not earlier revisions that still run.
 */
export function isConditionMet(
  name: string,
  condition: WaitCondition | FieldCondition,
  snapshot: EngineSnapshot,
): boolean {
  const workload = workloadWithKey(name, snapshot);
  if (workload !== undefined) return workloadMeets(workload, condition);
  const revisions = revisionsOf(name, snapshot);
  if (condition === 'deleted') return revisions.length === 0;
  const declared = revisions.find(({ replacedBy }) => replacedBy === undefined);
  if (declared === undefined) return false;
  const { pod, worker, outdatedContainers = [], waitingUpdate, restarting } = declared;
  const isStopping = worker.state === 'terminating' || worker.state === 'terminated';
  const isUpToDate = outdatedContainers.length === 0 && waitingUpdate === undefined && restarting === undefined;
  const isCurrent = !isStopping && isUpToDate;
  if (typeof condition !== 'string') return isCurrent && hasField(pod, condition);
  switch (condition) {
    case 'ready':
      return isCurrent && isReadyOrDone(pod.status);
    case 'completed':
      return isCurrent && pod.status?.phase === 'Succeeded';
    case 'updated':
      return isCurrent && revisions.length === 1 && hasStarted(pod) && !refusedUpdate(name, snapshot);
  }
}

/** Returns the workload with this `workloadKey`. Returns undefined if it is the name of a pod. */
const workloadWithKey = (name: string, { workloads = [] }: EngineSnapshot): WorkloadSnapshot | undefined =>
  workloads.find((workload) => workloadKey(workload) === name);

function workloadMeets(workload: WorkloadSnapshot, condition: WaitCondition | FieldCondition): boolean {
  const { desired, current, ready, available, updated, conditions, job, cronJob } = workload;
  if (cronJob !== undefined && isOfJob(condition)) return false;
  if (typeof condition !== 'string') {
    const counts = { replicas: current, readyReplicas: ready, availableReplicas: available, updatedReplicas: updated };
    return hasField({ status: { ...(job ?? counts), conditions } }, condition);
  }
  switch (condition) {
    case 'ready':
      if (job === undefined) return isRolledOut(workload);
      return job.result === 'Complete' || (job.active > 0 && job.ready === job.active);
    case 'completed':
      return job?.result === 'Complete';
    case 'updated':
      return job === undefined ? updated === desired && current === desired : job.startTime !== undefined;
    case 'deleted':
      return false;
  }
}

/** True for a condition that Jobs and pods have, and CronJobs do not. */
function isOfJob(condition: WaitCondition | FieldCondition): boolean {
  if (typeof condition !== 'string') return condition.text.startsWith('condition=');
  return condition === 'ready' || condition === 'completed';
}

/** Why the condition will never be met, such as a rollback of the manifest. Returns undefined if it may be. */
export function unreachableBecause(
  name: string,
  condition: WaitCondition | FieldCondition,
  snapshot: EngineSnapshot,
): string | undefined {
  const { cronJob, job } = workloadWithKey(name, snapshot) ?? {};
  if (cronJob !== undefined && isOfJob(condition)) return 'has no such condition, only its Jobs do';
  if (job?.result === 'Failed' && (condition === 'ready' || condition === 'completed')) return 'has failed';
  const declared = revisionsOf(name, snapshot).find(({ replacedBy }) => replacedBy === undefined);
  const { reason, message } = declared?.waitingUpdate ?? {};
  return condition === 'updated' && reason === reasons.rolledBack ? message : undefined;
}

/**
 * The error of the newest manifest of a pod that runs its last good revision instead. Returns undefined if there is
 * none.
 */
export function refusedUpdate(name: string, snapshot: EngineSnapshot): ManifestProblem | undefined {
  const errors = snapshot.sources.flatMap(({ problems }) => problems.filter(({ severity }) => severity === 'error'));
  const kept = errors.find(({ lastGoodPods = [] }) =>
    lastGoodPods.some((pod) => isNamed(pod, name, snapshot.nodeName)),
  );
  return errors.find(({ origin, lastGoodPods }) => origin === kept?.origin && lastGoodPods === undefined) ?? kept;
}

/** The state of an awaited pod, such as `ErrImagePull`. */
export function waitingText(name: string, snapshot: EngineSnapshot): string {
  const workload = workloadWithKey(name, snapshot);
  if (workload !== undefined) return workloadText(workload);
  const declared = revisionsOf(name, snapshot).find(({ replacedBy }) => replacedBy === undefined);
  if (declared === undefined) return 'not declared';
  if (declared.restarting !== undefined) return 'restarting';
  return declared.waitingUpdate?.reason ?? podStatusText(declared.pod, declared.worker);
}

function workloadText({ job, available, desired }: WorkloadSnapshot): string {
  if (job === undefined) return `${available} of ${desired} available`;
  return job.result ?? `${job.succeeded} succeeded, ${job.active} active`;
}

/** True if a manifest declares the pod or workload. */
export function isDeclared(name: string, snapshot: EngineSnapshot): boolean {
  return (
    workloadWithKey(name, snapshot) !== undefined ||
    revisionsOf(name, snapshot).some(({ replacedBy }) => replacedBy === undefined)
  );
}

/** True if the workload or some revision of the pod exists, even one that is stopping. */
export function isKnown(name: string, snapshot: EngineSnapshot): boolean {
  return workloadWithKey(name, snapshot) !== undefined || revisionsOf(name, snapshot).length > 0;
}

function revisionsOf(name: string, { pods, nodeName }: EngineSnapshot): PodSnapshot[] {
  return pods.filter(({ pod }) => isNamed(pod.metadata, name, nodeName));
}

function isNamed(metadata: PodName, name: string, nodeName: string): boolean {
  const names = [metadata.name, metadata.name.slice(0, -nodeName.length - 1)];
  return names.some((own) => own === name || `${metadata.namespace}/${own}` === name);
}

function hasField(object: object, { path, value }: FieldCondition): boolean {
  const texts = valuesAt(object, path).map(valueText);
  return texts.some((text) => (value === undefined ? text !== '' : text === value));
}

/** Completes "before these pods …". */
export function wantedText(condition: WaitCondition | FieldCondition): string {
  return typeof condition === 'string' ? `were ${condition}` : `had ${condition.text}`;
}

const hasStarted = ({ status }: Pod): boolean => (status?.phase ?? 'Pending') !== 'Pending';
