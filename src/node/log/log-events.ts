import { podKey } from '../../api/values/pod-names.ts';
import { pullText } from '../../api/values/pod-printer.ts';
import type { PodLifecycleEventType } from '../../engine/container/pod-lifecycle-event.ts';
import type { KubeletEvent, ManifestProblem } from '../../engine/view/events.ts';
import { reasons } from '../../engine/view/reasons.ts';
import type { EngineView } from '../../engine/view/snapshot.ts';
import type { Logger } from '../../logger.ts';
import { exitText } from './exit-text.ts';

/** Logs the engine's events, for a `run` without a screen. Returns a function that stops it. */
export function logEvents(view: EngineView, logger: Logger): () => void {
  const logged = new Map<string, ReadonlySet<ManifestProblem>>();
  const isPullDue = oncePerPull();
  const isStatusNew = oncePerStatus();
  return view.subscribe((event) => {
    if (event.type === 'PullProgressed' ? isPullDue(event) : isStatusNew(event)) logEvent(event, logger);
    if (event.type === 'SourceRead')
      logged.set(event.where, logProblems(event.problems, logged.get(event.where), logger));
  });
}

/** Logs each problem once while it lasts, even if its source is read many times. */
function logProblems(
  problems: readonly ManifestProblem[],
  logged: ReadonlySet<ManifestProblem> | undefined,
  logger: Logger,
): ReadonlySet<ManifestProblem> {
  for (const problem of problems) {
    if (logged?.has(problem) === true) continue;
    const { severity, message, origin, line, column, field, hint, lastGoodAt } = problem;
    const where = {
      origin,
      line,
      column,
      field,
      hint,
      ...(lastGoodAt !== undefined && { lastGoodAt: new Date(lastGoodAt).toISOString() }),
    };
    if (severity === 'error') logger.error(where, message);
    else logger.warn(where, message);
  }
  return new Set(problems);
}

const pullPeriodMs = 10_000;

/** Logs the progress of pulls every ten seconds. */
function oncePerPull(): (event: KubeletEvent & { type: 'PullProgressed' }) => boolean {
  /** Time of the last line, by pull. */
  const written = new Map<string, number>();
  return ({ at, pod, containerName, image }) => {
    for (const [pull, then] of written) if (Math.abs(at - then) >= pullPeriodMs) written.delete(pull);
    const pull = `${pod.uid}/${containerName}/${image}`;
    if (written.has(pull)) return false;
    written.set(pull, at);
    return true;
  };
}

/** Logs a status only if its line differs from the last one. */
function oncePerStatus(): (event: KubeletEvent) => boolean {
  /** The last line, by pod UID. */
  const written = new Map<string, string>();
  return (event) => {
    if (event.type === 'WorkerStateChanged' && event.state === 'removed') written.delete(event.pod.uid);
    if (event.type !== 'PodStatusChanged') return true;
    const text = `${event.phase} ${event.ready}`;
    const isNew = written.get(event.pod.uid) !== text;
    written.set(event.pod.uid, text);
    return isNew;
  };
}

function logEvent(event: KubeletEvent, logger: Logger): void {
  const pod = 'pod' in event ? { pod: podKey(event.pod) } : {};
  switch (event.type) {
    case 'SourceRead':
      logger.info({ source: event.where, pods: event.pods }, 'Read manifests');
      return;
    case 'PodAdded':
    case 'PodUpdated':
    case 'PodRemoved':
      logger.info({ ...pod, podUID: event.pod.uid, source: event.source }, podMessages[event.type]);
      return;
    case 'ContainerDied':
      if (event.containerName === undefined) logger.debug({ ...pod, containerID: event.id }, 'Sandbox ended');
      // The event of the failed start has more details.
      else if (event.end?.reason === 'StartError') logger.debug({ ...pod, ...containerEnd(event) }, 'Container ended');
      else logger.info({ ...pod, ...containerEnd(event) }, 'Container ended');
      return;
    case 'ContainerStarted':
    case 'ContainerRemoved':
    case 'ContainerChanged': {
      const { containerName, exitCode, id } = event;
      logger.debug({ ...pod, event: event.type, containerName, containerID: id, exitCode }, 'PLEG event');
      return;
    }
    case 'WorkerStateChanged':
      logger.debug({ ...pod, state: event.state }, 'Pod worker');
      return;
    case 'SyncStarted':
    case 'SyncFinished':
      return;
    case 'PodStatusChanged':
      logger.info({ ...pod, phase: event.phase, ready: event.ready }, 'Pod status');
      return;
    case 'WorkloadChanged': {
      const { kind, namespace, name, desired, updated, available } = event;
      logger.debug({ kind, namespace, name, desired, updated, available }, 'Workload status');
      return;
    }
    case 'Recorded': {
      const { containerName, reason, hint } = event;
      const facts = { ...pod, containerName, reason, hint };
      if (isRepeatedByName(event)) logger.debug(facts, event.message);
      else if (event.eventType === 'Warning') logger.warn(facts, event.message);
      else logger.info(facts, event.message);
      return;
    }
    case 'PullProgressed': {
      const { containerName, image } = event;
      logger.info({ ...pod, containerName, image, progress: pullText(event) }, 'Pulling image');
      return;
    }
    case 'RuntimeReady':
      logger.info({ runtime: event.name, version: event.version }, 'Container runtime is ready');
      return;
    case 'RuntimeNotReady':
      logger.error({ err: event.message }, 'Container runtime is not ready');
      return;
    default:
      event satisfies never;
  }
}

const imageReasons: readonly string[] = [
  reasons.errImagePull,
  reasons.errImageNeverPull,
  reasons.imageInspectError,
  reasons.invalidImageName,
];

/** True for the kubelet's second message on a failed pull, which only names the reason. */
const isRepeatedByName = ({ reason, message }: { reason: string; message: string }): boolean =>
  reason === reasons.failed && imageReasons.some((name) => message === `Error: ${name}`);

/** How a container exited, with the signal's name, and the reason if it adds to the exit code, such as `OOMKilled`. */
function containerEnd({ containerName, id, exitCode, end }: KubeletEvent & { type: PodLifecycleEventType }): object {
  const code = end?.exitCode ?? exitCode;
  const reason = end?.reason;
  return {
    containerName,
    containerID: id,
    ...(code !== undefined && { exit: exitText(code) }),
    ...(reason !== undefined && !['', 'Completed', 'Error'].includes(reason) && { reason }),
  };
}

const podMessages = { PodAdded: 'Pod added', PodUpdated: 'Pod updated', PodRemoved: 'Pod removed' } as const;
