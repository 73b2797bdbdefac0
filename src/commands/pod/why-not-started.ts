import { podStatusText } from '../../api/values/pod-printer.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { ContainerStatus } from '../../api/types.ts';
import type { PodSnapshot } from '../../engine/view/snapshot.ts';

/** A pod as an agent knows it, as far as it says why something of it does not run. */
export type KnownPod = Pick<PodSnapshot, 'pod'> & Partial<Pick<PodSnapshot, 'worker' | 'rejection'>>;

/**
 * Why a pod, or this container of it, does not run, as its agent knows. The first of these: it was not admitted or waits for
 * other pods, an image or a configuration is missing, its last sync failed, or what `ps` shows.
 */
export function whyNotStarted({ pod, worker, rejection }: KnownPod, containerName?: string): string {
  const { status = {} } = pod;
  if (rejection !== undefined) return sentence(rejection.reason, rejection.message);
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const waiting = containers
    .filter(({ name }) => containerName === undefined || name === containerName)
    .flatMap((container) => waitingReason(container, containerName === undefined));
  const [told] = waiting;
  if (told !== undefined) return told;
  if ((status.message ?? '') !== '') return sentence(status.reason ?? '', status.message ?? '');
  return worker?.lastSyncError ?? podStatusText(pod, worker);
}

/** The hint for a name that no pod has: a manifest that is broken declares none. */
export function brokenManifests(problems: readonly ManifestProblem[]): string | undefined {
  const broken = [...new Set(problems.filter(({ severity }) => severity === 'error').map(({ origin }) => origin))];
  if (broken.length === 0) return undefined;
  return `Manifests with errors declare no pods: ${broken.slice(0, 3).join(', ')}${broken.length > 3 ? ', …' : ''}. kubelet-ts ps shows the errors.`;
}

function waitingReason({ name, state }: ContainerStatus, isNamed: boolean): string[] {
  const { reason = '', message = '' } = state?.waiting ?? {};
  // These two are said of whatever has not begun yet.
  if (reason === '' || reason === 'ContainerCreating' || reason === 'PodInitializing') return [];
  return [isNamed ? `container ${name}: ${sentence(reason, message)}` : sentence(reason, message)];
}

/** The message alone where it begins with the reason, as those of pulls do. */
function sentence(reason: string, message: string): string {
  if (reason === '' || message.startsWith(`${reason}:`)) return message;
  return message === '' ? reason : `${reason}: ${message}`;
}
