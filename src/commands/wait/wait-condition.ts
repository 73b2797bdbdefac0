import { isReadyOrDone } from '../../api/values/pod-conditions.ts';
import { podStatusText } from '../../api/values/pod-printer.ts';
import type { Pod } from '../../api/types.ts';
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
  // Of pods; of Deployments, whose pod is Ready then; of Jobs.
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
 * True if the pod meets the condition. `updated`: only the currently declared manifest runs. All conditions but
 * `deleted` are about that manifest, not about earlier revisions that still run.
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
  const isEnding = worker.state === 'terminating' || worker.state === 'terminated';
  const isOfToday = outdatedContainers.length === 0 && waitingUpdate === undefined && restarting === undefined;
  const isCurrent = !isEnding && isOfToday;
  if (typeof condition !== 'string') return isCurrent && hasField(pod, condition);
  switch (condition) {
    case 'ready':
      return isCurrent && isReadyOrDone(pod.status);
    case 'completed':
      return isCurrent && pod.status?.phase === 'Succeeded';
    case 'updated':
      return isCurrent && revisions.length === 1 && hasStarted(pod);
  }
}

/** Why the declared manifest of a pod will not run, such as a rollback. Returns undefined if it still may. */
export function givenUpBecause(
  name: string,
  condition: WaitCondition | FieldCondition,
  snapshot: EngineSnapshot,
): string | undefined {
  const declared = revisionsOf(name, snapshot).find(({ replacedBy }) => replacedBy === undefined);
  const { reason, message } = declared?.waitingUpdate ?? {};
  return condition === 'updated' && reason === reasons.rolledBack ? message : undefined;
}

/** What an awaited pod is doing, such as `ErrImagePull`. */
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

function revisionsOf(name: string, { pods, nodeName }: EngineSnapshot): PodSnapshot[] {
  return pods.filter(({ pod }) => isNamed(pod, name, nodeName));
}

function isNamed({ metadata }: Pod, name: string, nodeName: string): boolean {
  const names = [metadata.name, metadata.name.slice(0, -nodeName.length - 1)];
  return names.some((own) => own === name || `${metadata.namespace}/${own}` === name);
}

function hasField(pod: Pod, { path, value }: FieldCondition): boolean {
  const texts = valuesAt(pod, path).map(valueText);
  return texts.some((text) => (value === undefined ? text !== '' : text === value));
}

/** The end of "before these pods …". */
export function wantedText(condition: WaitCondition | FieldCondition): string {
  return typeof condition === 'string' ? `were ${condition}` : `had ${condition.text}`;
}

const hasStarted = ({ status }: Pod): boolean => (status?.phase ?? 'Pending') !== 'Pending';
