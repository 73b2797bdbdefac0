import type { ContainerState, ContainerStatus, Pod } from '../../api/types.ts';
import { isPodReady } from '../../api/values/pod-conditions.ts';
import { alwaysRestarts, restartPolicyOf, restartsAfterExit } from '../../api/values/restart-rules.ts';
import { sidecarsOf } from '../../api/values/sidecars.ts';
import { initAndRegularStatuses } from '../../api/values/container-statuses.ts';
import { startFailureExitCode } from '../../cri/errors.ts';
import { computeStartOrder } from '../../engine/lifecycle/start-order.ts';
import { reasons } from '../../engine/view/reasons.ts';
import { firstInstance } from './container-instances.ts';

/** The outcome of one pod of `run-once`. */
export interface PodOutcome {
  outcome: 'completed' | 'ready' | 'failed' | 'not started' | 'timed out' | 'interrupted' | 'not waited for';
  exitCode: number;
  /** The reason for people; may be empty. */
  message: string;
  /** The container that decided the outcome. */
  container?: string;
}

/**
 * When a pod is done: `completed` when its containers have exited, `ready` also when it is Ready, `auto` by its restart
 * policy: a pod that always restarts only has to be Ready.
 */
export const untilWords = ['auto', 'ready', 'completed'] as const;
export type Until = (typeof untilWords)[number];

/** Exit codes as in `timeout` and `docker run`. */
export const exitCodes = { timedOut: 124, notStarted: 125, interrupted: 130 } as const;

/** Waiting reasons that no retry resolves. */
const hopeless: readonly string[] = [
  reasons.errImageNeverPull,
  reasons.invalidImageName,
  reasons.createContainerConfigError,
  reasons.signatureValidationFailed,
];
/** Waiting reasons of a failed pull. */
const pulling: readonly string[] = [reasons.errImagePull, reasons.imagePullBackOff, reasons.registryUnavailable];
/** The reasons with which runtimes report a container that never started. */
const neverStarted: readonly unknown[] = ['StartError', 'ContainerCannotRun'];

type Waiting = NonNullable<ContainerState['waiting']>;

/** Number of consecutive failed pulls for a container. */
export type PullFailures = (containerName: string) => number;

/**
 * The outcome of a pod. Returns undefined while it is not decided. For a pod that always restarts, the first exit of
 * its containers counts, because run-once is about one run. `ready` must still last (`run-once-node.ts`).
 */
export function podOutcome(
  pod: Pod,
  { until = 'auto', pullFailures }: { until?: Until; pullFailures?: PullFailures } = {},
): PodOutcome | undefined {
  const { spec, status } = pod;
  const unstarted = unstartedOutcome(pod, pullFailures);
  if (unstarted !== undefined) return unstarted;
  if (status?.phase === 'Succeeded') return completed;
  const failed = firstFailed(pod);
  const serves = alwaysRestarts(spec);
  if (status?.phase === 'Failed' || (serves && failed !== undefined)) {
    return failure(failed, status?.message ?? status?.reason ?? '');
  }
  const regular = status?.containerStatuses ?? [];
  const isOver = regular.length > 0 && regular.every((container) => firstEnd(container) !== undefined);
  if (serves && isOver) return completed;
  const work = workOutcome(pod);
  if (work !== undefined) return work;
  if (until === 'completed' || (until === 'auto' && !serves)) return undefined;
  return isPodReady(status) ? { outcome: 'ready', exitCode: 0, message: '' } : undefined;
}

const completed: PodOutcome = { outcome: 'completed', exitCode: 0, message: '' };

/** The outcome of a pod whose work is done, but whose phase stays Running for containers that always restart. */
function workOutcome({ spec, status }: Pod): PodOutcome | undefined {
  const work = spec.containers.filter((container) => restartPolicyOf(container, spec) !== 'Always');
  const done = work.flatMap((container) => {
    const one = status?.containerStatuses?.find(({ name }) => name === container.name);
    const exitCode = one?.state?.terminated?.exitCode;
    return exitCode === undefined || restartsAfterExit(container, spec, exitCode) ? [] : [{ one, exitCode }];
  });
  if (work.length === 0 || work.length === spec.containers.length || done.length < work.length) return undefined;
  const failed = done.find(({ exitCode }) => exitCode !== 0);
  return failed === undefined ? completed : failure(failed.one, '');
}

/**
 * The container that failed first. A sidecar counts only if nothing else failed, because it is stopped with its pod.
 */
function firstFailed(pod: Pod): ContainerStatus | undefined {
  const failed = initAndRegularStatuses(pod.status).filter((container) => (firstEnd(container)?.exitCode ?? 0) !== 0);
  const sidecars = new Set(sidecarsOf(pod.spec).map(({ name }) => name));
  const others = failed.filter(({ name }) => !sidecars.has(name));
  const endedAt = (container: ContainerStatus): number => Date.parse(firstEnd(container)?.finishedAt ?? '') || 0;
  return (others.length > 0 ? others : failed).sort((a, b) => endedAt(a) - endedAt(b))[0];
}

/** The outcome of one container: its first exit, or the reason for which its pod cannot start. */
export function containerOutcome(pod: Pod, container: string, pullFailures?: PullFailures): PodOutcome | undefined {
  const unstarted = unstartedOutcome(pod, pullFailures);
  if (unstarted !== undefined) return unstarted;
  const status = initAndRegularStatuses(pod.status).find(({ name }) => name === container);
  const end = status === undefined ? undefined : firstEnd(status);
  if (end === undefined) return pod.status?.phase === 'Failed' ? podOutcome(pod) : undefined;
  return end.exitCode === 0 ? { outcome: 'completed', exitCode: 0, message: '', container } : failure(status, '');
}

/** The outcome of a pod with a container that can never start. Returns undefined if all may start. */
function unstartedOutcome(pod: Pod, pullFailures: PullFailures = () => 0): PodOutcome | undefined {
  const statuses = initAndRegularStatuses(pod.status);
  const stuck = statuses.find(({ name, state }) => isStuck(state?.waiting, pullFailures(name)));
  if (stuck?.state?.waiting !== undefined)
    return { ...notStarted(waitingText(stuck.state.waiting)), container: stuck.name };
  for (const container of statuses) {
    const unstartable = startFailure(container);
    if (unstartable !== undefined) return unstartable;
  }
  return undefined;
}

function isStuck(waiting: Waiting | undefined, failures: number): boolean {
  const { reason = '', message = '' } = waiting ?? {};
  return hopeless.includes(reason) || (pulling.includes(reason) && isImageHopeless(message, failures));
}

/** The outcome of a container whose command is not found or not executable, as in docker, podman and `exec`. */
function startFailure(container: ContainerStatus): PodOutcome | undefined {
  const { name, state } = container;
  const end = firstEnd(container);
  const isEnd = neverStarted.includes(end?.reason);
  const message = isEnd
    ? (end?.message ?? '')
    : state?.waiting?.reason === reasons.createContainerError
      ? (state.waiting.message ?? '')
      : '';
  // Excludes failed mounts, whose messages are alike.
  const exitCode = /\bexec\b|executable/i.test(message) ? startFailureExitCode(message) : undefined;
  if (exitCode !== undefined) {
    return {
      outcome: 'failed',
      exitCode,
      message: `container ${name} could not be started: ${message}`,
      container: name,
    };
  }
  return isEnd ? { ...notStarted(`container ${name} could not be started: ${message}`), container: name } : undefined;
}

const waitingText = ({ reason = '', message = '' }: Waiting): string => joined(reason, message);

/**
 * For a pod that ran out of time: why it waits, or which container still runs. Empty if unknown. `lastWarning` is the
 * message of its newest event, used if the status has no reason.
 */
export function unfinishedState({ spec, status }: Pod, lastWarning = ''): Pick<PodOutcome, 'message' | 'container'> {
  const { reason = '', message = '' } = status ?? {};
  if (message !== '') return { message: waitingText({ reason, message }) };
  const statuses = initAndRegularStatuses(status);
  const waits =
    statuses.find(({ state }) => !notYet.includes(state?.waiting?.reason)) ??
    statuses.find(({ state, ready }) => state?.running !== undefined && !ready) ??
    statuses.find(({ state }) => state?.running !== undefined) ??
    statuses.find(({ state }) => state?.waiting !== undefined);
  if (waits === undefined) return { message: lastWarning };
  return {
    message: `container ${waits.name} ${stateText(waits, alwaysRestarts(spec), lastWarning)}${failureBefore(waits)}`,
    container: waits.name,
  };
}

function stateText({ state, ready }: ContainerStatus, serves: boolean, lastWarning: string): string {
  if (state?.waiting !== undefined) {
    const { reason = 'not started', message = lastWarning } = state.waiting;
    return joined('waits', reason, message);
  }
  if (!serves) return 'still runs';
  return ready ? 'is Ready, others are not' : joined('is not Ready', lastWarning);
}

/** The failure of the previous instance, because a container that is retried again and again may never succeed. */
function failureBefore({ lastState }: ContainerStatus): string {
  const { exitCode = 0 } = lastState?.terminated ?? {};
  return exitCode === 0 ? '' : `; it exited with code ${exitCode} before`;
}

const joined = (...parts: string[]): string => parts.filter((part) => part !== '').join(': ');

/** States that give no reason: waiting for other containers, and not waiting. */
const notYet: readonly unknown[] = [undefined, reasons.podInitializing, reasons.containerCreating];

/** True if the pod succeeded or did not have to. */
export const isGood = ({ outcome }: Pick<PodOutcome, 'outcome'>): boolean =>
  outcome === 'completed' || outcome === 'ready' || outcome === 'not waited for';

export function notStarted(message: string): PodOutcome {
  return { outcome: 'not started', exitCode: exitCodes.notStarted, message };
}

/**
 * The undecided pods, if all of them wait for pods that are missing or that stopped without becoming Ready, so that
 * nothing more can happen. `known` are all pods with their statuses.
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
  // The reason why the whole pod stopped, such as its deadline, explains more than the exit of a container.
  if (podMessage !== '')
    return { outcome: 'failed', exitCode: end.exitCode, message: podMessage, container: container.name };
  return {
    outcome: 'failed',
    exitCode: end.exitCode,
    message: `container ${container.name} exited with code ${end.exitCode}${reason}`,
    container: container.name,
  };
}

const firstEnd = (container: ContainerStatus): ContainerState['terminated'] => firstInstance(container).end;

/**
 * Consecutive failures to reach a registry before giving up. Pulls follow at once, after 10 s and after another 20 s.
 */
const maxUnreachable = 3;

/** Messages of registries and runtimes about an image that no retry can pull. */
const final = [
  /manifest unknown|name unknown|repository name not known|: not found\b/i,
  /repository does not exist|pull access denied|requested access to the resource is denied/i,
  /authorization failed|unauthorized|forbidden|no basic auth credentials/i,
  /no match for platform|no image found in manifest list|invalid reference format/i,
  /x509: |server gave HTTP response to HTTPS client/i,
  /SignatureValidationFailed/,
];

/** Messages about a registry that cannot be reached, possibly only temporarily. */
const unreachable = [
  /no such host|server misbehaving|Temporary failure in name resolution/i,
  /connection refused|connection reset|no route to host|network is unreachable/i,
  /i\/o timeout|handshake timeout|deadline exceeded|RegistryUnavailable/i,
];

/**
 * True if a failed pull is not worth a retry. `failures` is the number of consecutive failures. A busy, failing or
 * disconnecting registry is retried.
 */
function isImageHopeless(message: string, failures: number): boolean {
  if (final.some((pattern) => pattern.test(message))) return true;
  return failures >= maxUnreachable && unreachable.some((pattern) => pattern.test(message));
}
