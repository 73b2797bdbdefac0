import { isReadyOrDone } from '../../api/values/pod-conditions.ts';
import { podStatusText } from '../../api/values/pod-printer.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { Pod } from '../../api/types.ts';
import type { PodName } from '../../api/values/pod-names.ts';
import { reasons } from '../../engine/view/reasons.ts';
import type { EngineSnapshot, PodSnapshot } from '../../engine/view/snapshot.ts';
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

/** Why the declared manifest of a pod will never run, such as a rollback. Returns undefined if it still may. */
export function unreachableBecause(
  name: string,
  condition: WaitCondition | FieldCondition,
  snapshot: EngineSnapshot,
): string | undefined {
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
  const declared = revisionsOf(name, snapshot).find(({ replacedBy }) => replacedBy === undefined);
  if (declared === undefined) return 'not declared';
  if (declared.restarting !== undefined) return 'restarting';
  return declared.waitingUpdate?.reason ?? podStatusText(declared.pod, declared.worker);
}

/** True if a manifest declares the pod. */
export function isDeclared(name: string, snapshot: EngineSnapshot): boolean {
  return revisionsOf(name, snapshot).some(({ replacedBy }) => replacedBy === undefined);
}

/** True if some revision of the pod exists, even one that is stopping. */
export function isKnown(name: string, snapshot: EngineSnapshot): boolean {
  return revisionsOf(name, snapshot).length > 0;
}

function revisionsOf(name: string, { pods, nodeName }: EngineSnapshot): PodSnapshot[] {
  return pods.filter(({ pod }) => isNamed(pod.metadata, name, nodeName));
}

function isNamed(metadata: PodName, name: string, nodeName: string): boolean {
  const names = [metadata.name, metadata.name.slice(0, -nodeName.length - 1)];
  return names.some((own) => own === name || `${metadata.namespace}/${own}` === name);
}

function hasField(pod: Pod, { path, value }: FieldCondition): boolean {
  const texts = valuesAt(pod, path).map(valueText);
  return texts.some((text) => (value === undefined ? text !== '' : text === value));
}

/** Completes "before these pods …". */
export function wantedText(condition: WaitCondition | FieldCondition): string {
  return typeof condition === 'string' ? `were ${condition}` : `had ${condition.text}`;
}

const hasStarted = ({ status }: Pod): boolean => (status?.phase ?? 'Pending') !== 'Pending';
