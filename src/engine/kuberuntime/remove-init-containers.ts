import type { Pod } from '../../api/types.ts';
import { formatPod } from '../../api/values/pod-names.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { PodRemover } from './pod-remover.ts';

interface Deps {
  podRemover: PodRemover;
  logger: Pick<Logger, 'warn'>;
}

/**
 * Removes the init containers, which run again in a new sandbox. The kubelet loses their restart counts if the sandbox
 * fails or the kubelet is killed before they start. Here the counts continue from the logs.
 *
 * Also removes app containers that were created and never started, because one would prove that the init containers
 * have completed. The kubelet skips all but the first then (kubernetes#140309). kubelet: kuberuntime_container.go
 * purgeInitContainers
 */
export async function purgeInitContainers(
  deps: Deps,
  pod: Pod,
  { containerStatuses }: RuntimePodStatus,
): Promise<void> {
  const { podRemover } = deps;
  const { initContainers = [], containers } = pod.spec;
  for (const status of containerStatuses) {
    if (status.state !== 'created' || !containers.some(({ name }) => name === status.name)) continue;
    await skipFailure(deps, pod, podRemover.removeContainer(pod.metadata, status));
  }
  for (const { name } of initContainers) {
    const [newest, ...others] = containerStatuses.filter((status) => status.name === name);
    for (const status of others) await skipFailure(deps, pod, podRemover.removeContainer(pod.metadata, status));
    if (newest !== undefined) await skipFailure(deps, pod, podRemover.purgeContainer(pod.metadata, newest));
  }
}

/**
 * Removes all but the newest finished instance of each init container. kubelet: kuberuntime_container.go
 * pruneInitContainersBeforeStart
 */
export async function pruneInitContainers(
  deps: Deps,
  pod: Pod,
  { containerStatuses }: RuntimePodStatus,
): Promise<void> {
  for (const { name } of pod.spec.initContainers ?? []) {
    const finished = containerStatuses.filter(
      (status) => status.name === name && (status.state === 'exited' || status.state === 'unknown'),
    );
    for (const status of finished.slice(1))
      await skipFailure(deps, pod, deps.podRemover.removeContainer(pod.metadata, status));
  }
}

/** Logs a failed removal and continues. The next sync or the garbage collection removes the container. */
async function skipFailure({ logger }: Deps, pod: Pod, removal: Promise<void>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    logger.warn({ err: errorMessage(error), pod: formatPod(pod) }, 'Removing a container of an earlier sandbox failed');
  }
}
