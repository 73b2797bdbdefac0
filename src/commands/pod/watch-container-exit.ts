import type { Pod } from '../../api/types.ts';
import { systemClock } from '../../clock.ts';
import { isNotFound } from '../../cri/errors.ts';
import { newestFirst } from '../../cri/newest-first.ts';
import { criLabels } from '../../engine/container/labels.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import { startsAgain } from '../../api/values/restart-rules.ts';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import type { OpenPod } from './open-pod.ts';

/** The kubelet's period while it follows a log. kubelet: cri-client logs.go logForceCheckPeriod */
const checkPeriodMs = 1000;

/**
 * A signal that is aborted when the container has exited and the agent will not restart it.
 * Without an agent it is never restarted. Checks until `signal` is aborted.
 */
export function watchContainerExit(opened: OpenPod, containerName: string, signal: AbortSignal): AbortSignal {
  const finished = new AbortController();
  void (async () => {
    while (!(await hasFinished(opened, containerName))) await systemClock.sleep(checkPeriodMs, { signal });
  })().then(
    () => {
      finished.abort();
    },
    // The reader is done or the runtime does not answer, so no more output follows.
    () => {
      finished.abort();
    },
  );
  return finished.signal;
}

async function hasFinished({ runtime, pod, declaredPod }: OpenPod, containerName: string): Promise<boolean> {
  const { containers } = await runtime.listContainers({
    filter: { labelSelector: { [criLabels.podUID]: pod.uid, [criLabels.containerName]: containerName } },
  });
  const [newest] = containers.sort(newestFirst);
  if (newest === undefined) return true;
  if (newest.state !== 'CONTAINER_EXITED') return false;
  try {
    const { status } = await runtime.containerStatus({ containerId: newest.id });
    return !willRestart(await declaredPod(), containerName, status?.exitCode ?? 0);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** True if the agent will restart an exited container. `pod` is undefined without an agent. */
export function willRestart(pod: Pod | undefined, containerName: string, exitCode: number): boolean {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return false;
  if (isPodPhaseTerminal(pod.status?.phase)) return false;
  const container = initAndRegularContainers(pod.spec).find(({ name }) => name === containerName);
  return container !== undefined && startsAgain(container, pod.spec, exitCode);
}
