import type { ContainerStatus, Pod } from '../api/types.ts';
import { computeStartOrder } from '../engine/lifecycle/start-order.ts';
import { reasons } from '../engine/reasons.ts';

/** How one pod of a `run-once` ended. */
export interface PodOutcome {
  outcome: 'completed' | 'ready' | 'failed' | 'not started' | 'timed out' | 'interrupted';
  exitCode: number;
  /** Why, for people; empty when there is nothing to say. */
  message: string;
  /** The container that decided it. */
  container?: string;
}

/** As `timeout` and `docker run` have them. */
export const exitCodes = { timedOut: 124, notStarted: 125, interrupted: 130 } as const;

/** Waiting reasons that no further try will cure. */
const hopeless: readonly string[] = ['ErrImageNeverPull', 'InvalidImageName', 'CreateContainerConfigError'];

/**
 * What a pod has come to; undefined while it is not decided. A pod that restarts for ever counts by the first end of its
 * containers: run-once is about one run. `ready` still has to last (`run-once-node.ts`).
 */
export function podOutcome({ spec, status }: Pod): PodOutcome | undefined {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const stuck = statuses.find(({ state }) => hopeless.includes(state?.waiting?.reason ?? ''));
  if (stuck?.state?.waiting !== undefined) {
    const { reason = '', message = '' } = stuck.state.waiting;
    const text = [reason, message].filter((part) => part !== '').join(': ');
    return { ...notStarted(text), container: stuck.name };
  }
  if (status?.phase === 'Succeeded') return { outcome: 'completed', exitCode: 0, message: '' };
  const failed = statuses.find((container) => (firstEnd(container)?.exitCode ?? 0) !== 0);
  if (status?.phase === 'Failed' || (spec.restartPolicy === 'Always' && failed !== undefined)) {
    return failure(failed, status?.message ?? status?.reason ?? '');
  }
  if (spec.restartPolicy !== 'Always') return undefined;
  const regular = status?.containerStatuses ?? [];
  if (regular.length > 0 && regular.every((container) => firstEnd(container) !== undefined)) {
    return { outcome: 'completed', exitCode: 0, message: '' };
  }
  const ready = status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
  return ready ? { outcome: 'ready', exitCode: 0, message: '' } : undefined;
}

export function notStarted(message: string): PodOutcome {
  return { outcome: 'not started', exitCode: exitCodes.notStarted, message };
}

/**
 * The undecided pods as they are now, when all of them wait for others that are decided and not Ready, or not there at all:
 * nothing more is going to happen. `known` are all pods with their statuses.
 */
export function stuckPods(undecided: readonly Pod[], known: readonly Pod[]): Pod[] {
  const uids = new Set(undecided.map(({ metadata }) => metadata.uid));
  const stuck = known.filter(
    (pod) =>
      uids.has(pod.metadata.uid) &&
      pod.status?.reason === reasons.waitingForPods &&
      computeStartOrder(pod, known, ({ status }) => status).decision === 'wait',
  );
  return stuck.length === undecided.length ? stuck : [];
}

function failure(container: ContainerStatus | undefined, podMessage: string): PodOutcome {
  const end = container === undefined ? undefined : firstEnd(container);
  if (container === undefined || end === undefined) return { outcome: 'failed', exitCode: 1, message: podMessage };
  const reason = end.reason === undefined || end.reason === 'Error' ? '' : ` (${end.reason})`;
  // What ended the whole pod, such as its deadline, says more than how a container took it.
  if (podMessage !== '')
    return { outcome: 'failed', exitCode: end.exitCode, message: podMessage, container: container.name };
  return {
    outcome: 'failed',
    exitCode: end.exitCode,
    message: `container ${container.name} exited with code ${end.exitCode}${reason}`,
    container: container.name,
  };
}

function firstEnd({ state, lastState }: ContainerStatus): { exitCode: number; reason?: string } | undefined {
  return lastState?.terminated ?? state?.terminated;
}
