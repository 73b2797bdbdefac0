import { podStatusText } from '../../api/values/pod-printer.ts';
import type { ContainerStatus } from '../../api/types.ts';
import { allContainerStatuses } from '../../api/values/container-statuses.ts';
import { pendingInit, type PendingInit } from '../../api/values/pending-init.ts';
import type { PodSnapshot } from '../../engine/view/snapshot.ts';

/** What an agent knows about a pod and why it does not run. */
export type KnownPod = Pick<PodSnapshot, 'pod'> & Partial<Pick<PodSnapshot, 'worker' | 'rejection'>>;

/**
 * Why a pod or this container does not run, as its agent reports it. The first of these: rejected or waiting for other
 * pods, a missing image or configuration, its last failed sync, or its status in `ps`.
 */
export function whyNotStarted({ pod, worker, rejection }: KnownPod, containerName?: string): string {
  const { status = {} } = pod;
  if (rejection !== undefined) return sentence(rejection.reason, rejection.message);
  const waiting = allContainerStatuses(status)
    .filter(({ name }) => containerName === undefined || name === containerName)
    .flatMap((container) => waitingReason(container, containerName === undefined));
  const [reason] = waiting;
  if (reason !== undefined) return reason;
  const init = containerName === undefined ? undefined : pendingInit(pod);
  if (init !== undefined && init.container.name !== containerName) return `PodInitializing: ${initText(init)}`;
  if ((status.message ?? '') !== '') return sentence(status.reason ?? '', status.message ?? '');
  return worker?.lastSyncError ?? podStatusText(pod, worker);
}

/** The state of the init container that the others wait for, such as `init container setup is running`. */
function initText({ container: { name }, status }: PendingInit): string {
  const { running, terminated } = status?.state ?? {};
  const [waiting] = status === undefined ? [] : waitingReason(status, false);
  if (running !== undefined) return `init container ${name} is running`;
  if (terminated !== undefined) return `init container ${name} exited with code ${terminated.exitCode}`;
  return `init container ${name}${waiting === undefined ? ' is starting' : `: ${waiting}`}`;
}

function waitingReason({ name, state }: ContainerStatus, isNamed: boolean): string[] {
  const { reason = '', message = '' } = state?.waiting ?? {};
  // These reasons only mean that it has not started.
  if (reason === '' || reason === 'ContainerCreating' || reason === 'PodInitializing') return [];
  return [isNamed ? `container ${name}: ${sentence(reason, message)}` : sentence(reason, message)];
}

/** The reason and the message. Leaves the reason out if the message begins with it, as for pulls. */
function sentence(reason: string, message: string): string {
  if (reason === '' || message.startsWith(`${reason}:`)) return message;
  return message === '' ? reason : `${reason}: ${message}`;
}
