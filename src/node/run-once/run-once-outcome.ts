import type { ContainerState, ContainerStatus, Pod } from '../../api/types.ts';
import { startFailureExitCode } from '../../cri/errors.ts';
import { computeStartOrder } from '../../engine/lifecycle/start-order.ts';
import { reasons } from '../../engine/view/reasons.ts';

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
const hopeless: readonly string[] = [
  reasons.errImageNeverPull,
  reasons.invalidImageName,
  reasons.createContainerConfigError,
  reasons.signatureValidationFailed,
];
/** Those of an image that could not be pulled. */
const pulling: readonly string[] = [reasons.errImagePull, reasons.imagePullBackOff, reasons.registryUnavailable];
/** What runtimes call the end of a container that never started. */
const neverStarted: readonly unknown[] = ['StartError', 'ContainerCannotRun'];

type Waiting = NonNullable<ContainerState['waiting']>;

/** How often in a row the images of a container could not be pulled. */
export type PullFailures = (containerName: string) => number;

/**
 * What a pod has come to; undefined while it is not decided. A pod that restarts for ever counts by the first end of its
 * containers: run-once is about one run. `ready` still has to last (`run-once-node.ts`).
 */
export function podOutcome({ spec, status }: Pod, pullFailures: PullFailures = () => 0): PodOutcome | undefined {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const stuck = statuses.find(({ name, state }) => isStuck(state?.waiting, pullFailures(name)));
  if (stuck?.state?.waiting !== undefined)
    return { ...notStarted(waitingText(stuck.state.waiting)), container: stuck.name };
  for (const container of statuses) {
    const unstartable = startFailure(container);
    if (unstartable !== undefined) return unstartable;
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

function isStuck(waiting: Waiting | undefined, failures: number): boolean {
  const { reason = '', message = '' } = waiting ?? {};
  return hopeless.includes(reason) || (pulling.includes(reason) && isImageHopeless(message, failures));
}

/** The end of a container whose command is not there, or is none; as docker, podman and `exec` have it. */
function startFailure(container: ContainerStatus): PodOutcome | undefined {
  const { name, state } = container;
  const end = firstEnd(container);
  const isEnd = neverStarted.includes(end?.reason);
  const message = isEnd
    ? (end?.message ?? '')
    : state?.waiting?.reason === reasons.createContainerError
      ? (state.waiting.message ?? '')
      : '';
  // The words of a mount that fails are the same.
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
 * For a pod whose time is over: what it waits for, or which container runs on; empty when nothing is known of it.
 * `lastWarning`: of its newest event, where the status gives no reason.
 */
export function whatIsLeft({ spec, status }: Pod, lastWarning = ''): Pick<PodOutcome, 'message' | 'container'> {
  const { reason = '', message = '' } = status ?? {};
  if (message !== '') return { message: waitingText({ reason, message }) };
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const waits =
    statuses.find(({ state }) => !notYet.includes(state?.waiting?.reason)) ??
    statuses.find(({ state, ready }) => state?.running !== undefined && !ready) ??
    statuses.find(({ state }) => state?.running !== undefined) ??
    statuses.find(({ state }) => state?.waiting !== undefined);
  if (waits === undefined) return { message: lastWarning };
  return {
    message: `container ${waits.name} ${stateText(waits, spec.restartPolicy, lastWarning)}`,
    container: waits.name,
  };
}

function stateText({ state, ready }: ContainerStatus, restartPolicy: string | undefined, lastWarning: string): string {
  if (state?.waiting !== undefined) {
    const { reason = 'not started', message = lastWarning } = state.waiting;
    return joined('waits', reason, message);
  }
  if (restartPolicy !== 'Always') return 'still runs';
  return ready ? 'is Ready, others are not' : joined('is not Ready', lastWarning);
}

const joined = (...parts: string[]): string => parts.filter((part) => part !== '').join(': ');

/** Waiting for others, which says nothing; and not waiting. */
const notYet: readonly unknown[] = [undefined, reasons.podInitializing, reasons.containerCreating];

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

function firstEnd({
  state,
  lastState,
}: ContainerStatus): { exitCode: number; reason?: string; message?: string } | undefined {
  return lastState?.terminated ?? state?.terminated;
}

/** So often in a row a registry may be out of reach: the pulls come at once, after 10 s and after 20 s more. */
const maxUnreachable = 3;

/** What a registry, or the runtime, says of an image that no later pull brings either. */
const final = [
  /manifest unknown|name unknown|repository name not known|: not found\b/i,
  /repository does not exist|pull access denied|requested access to the resource is denied/i,
  /authorization failed|unauthorized|forbidden|no basic auth credentials/i,
  /no match for platform|no image found in manifest list|invalid reference format/i,
  /x509: |server gave HTTP response to HTTPS client/i,
  /SignatureValidationFailed/,
];

/** What nobody answered to, for now or for ever. */
const unreachable = [
  /no such host|server misbehaving|Temporary failure in name resolution/i,
  /connection refused|connection reset|no route to host|network is unreachable/i,
  /i\/o timeout|handshake timeout|deadline exceeded|RegistryUnavailable/i,
];

/**
 * Whether a pull that failed with this message is worth no other one. `failures` is how often in a row it failed. A registry
 * that is busy, has an error of its own, or breaks off is asked again.
 */
function isImageHopeless(message: string, failures: number): boolean {
  if (final.some((pattern) => pattern.test(message))) return true;
  return failures >= maxUnreachable && unreachable.some((pattern) => pattern.test(message));
}
