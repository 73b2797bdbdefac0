import { podStatusText } from '../../api/values/pod-printer.ts';
import type { Pod } from '../../api/types.ts';
import { reasons } from '../../engine/view/reasons.ts';
import type { EngineSnapshot, PodSnapshot } from '../../engine/view/snapshot.ts';

export const waitConditions = ['ready', 'completed', 'updated', 'deleted'] as const;
export type WaitCondition = (typeof waitConditions)[number];

/** Our name of a condition as written for kubectl. Returns other texts as they are. */
export function conditionNamed(text: string): string {
  if (/^condition=ready(=true)?$/i.test(text)) return 'ready';
  return text === 'delete' ? 'deleted' : text;
}

/**
 * True if the pod meets the condition. `updated`: only the currently declared manifest runs. All conditions but
 * `deleted` are about that manifest, not about earlier revisions that still run.
 */
export function isConditionMet(name: string, condition: WaitCondition, snapshot: EngineSnapshot): boolean {
  const revisions = revisionsOf(name, snapshot);
  if (condition === 'deleted') return revisions.length === 0;
  const declared = revisions.find(({ replacedBy }) => replacedBy === undefined);
  if (declared === undefined) return false;
  const { pod, worker, outdatedContainers = [], waitingUpdate } = declared;
  const isEnding = worker.state === 'terminating' || worker.state === 'terminated';
  const isCurrent = !isEnding && outdatedContainers.length === 0 && waitingUpdate === undefined;
  switch (condition) {
    case 'ready':
      return isCurrent && isReady(pod);
    case 'completed':
      return pod.status?.phase === 'Succeeded';
    case 'updated':
      return isCurrent && revisions.length === 1 && hasStarted(pod);
  }
}

/** Why the declared manifest of a pod will not run, such as a rollback. Returns undefined if it still may. */
export function givenUpBecause(name: string, condition: WaitCondition, snapshot: EngineSnapshot): string | undefined {
  const declared = revisionsOf(name, snapshot).find(({ replacedBy }) => replacedBy === undefined);
  const { reason, message } = declared?.waitingUpdate ?? {};
  return condition === 'updated' && reason === reasons.rolledBack ? message : undefined;
}

/** What an awaited pod is doing, such as `ErrImagePull`. */
export function waitingText(name: string, snapshot: EngineSnapshot): string {
  const declared = revisionsOf(name, snapshot).find(({ replacedBy }) => replacedBy === undefined);
  if (declared === undefined) return 'not declared';
  return declared.waitingUpdate?.reason ?? podStatusText(declared.pod, declared.worker);
}

function revisionsOf(name: string, { pods, nodeName }: EngineSnapshot): PodSnapshot[] {
  return pods.filter(({ pod }) => isNamed(pod, name, nodeName));
}

function isNamed({ metadata }: Pod, name: string, nodeName: string): boolean {
  const names = [metadata.name, metadata.name.slice(0, -nodeName.length - 1)];
  return names.some((own) => own === name || `${metadata.namespace}/${own}` === name);
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;

const hasStarted = ({ status }: Pod): boolean => (status?.phase ?? 'Pending') !== 'Pending';
