import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { isNotFound } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { PodEventRecorder } from '../event-recorder.ts';
import { killContainer } from './kill-container.ts';
import type { RuntimePodStatus } from './runtime-pod-status.ts';
import { containerGracePeriodSeconds, remainingGracePeriodSeconds } from './termination-grace-period.ts';
import { terminationOrder } from './termination-order.ts';

/**
 * Stops every running container of a pod side by side, sidecars after what they serve, then every sandbox. All of it is
 * tried; rejects with the first error. kubelet: kuberuntime_manager.go killPodWithSyncResult
 */
export async function killPod(
  deps: { runtime: RuntimeService; clock: Clock },
  pod: Pod,
  podStatus: RuntimePodStatus,
  recorder: PodEventRecorder,
  gracePeriodOverride?: number,
): Promise<void> {
  const { runtime, clock } = deps;
  const running = podStatus.containerStatuses.filter(({ state }) => state === 'running');
  const order = terminationOrder(pod, new Set(running.map(({ name }) => name)));
  const startedAt = clock.monotonic();
  const stops = new Map<string, Promise<void>>();
  const stopOf = (name: string): Promise<void> => {
    const begun = stops.get(name) ?? stop(name);
    stops.set(name, begun);
    return begun;
  };
  const stop = async (name: string): Promise<void> => {
    const containerID = running.find((status) => status.name === name)?.id ?? '';
    const before = order.get(name) ?? [];
    let override = gracePeriodOverride;
    if (before.length > 0) {
      // The wait for the others is part of the container's own grace period.
      const graceSeconds = containerGracePeriodSeconds(pod, undefined, '', gracePeriodOverride);
      await firstOf(clock, graceSeconds * 1000, Promise.allSettled(before.map(stopOf)));
      override = remainingGracePeriodSeconds(graceSeconds, clock.monotonic() - startedAt);
    }
    const kill = { containerID, name, message: '', reason: '' as const };
    await killContainer(
      runtime,
      pod,
      override === undefined ? kill : { ...kill, gracePeriodOverride: override },
      recorder,
    );
  };
  const stopped = await Promise.allSettled(running.map(({ name }) => stopOf(name)));
  const sandboxes = await Promise.allSettled(podStatus.sandboxStatuses.map(({ id }) => stopPodSandbox(runtime, id)));
  for (const result of [...stopped, ...sandboxes]) if (result.status === 'rejected') throw result.reason;
}

/** Stops a sandbox; one that is gone counts as stopped. */
export async function stopPodSandbox(runtime: RuntimeService, podSandboxId: string): Promise<void> {
  try {
    await runtime.stopPodSandbox({ podSandboxId });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function firstOf(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const waiting = new AbortController();
  const timeout = clock.sleep(ms, { signal: waiting.signal }).catch(() => undefined);
  await Promise.race([work, timeout]);
  waiting.abort();
}
