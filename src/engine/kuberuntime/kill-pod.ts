import type { Pod } from '../../api/types.ts';
import { isNotFound } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import type { HookDeps } from './run-hook.ts';
import { killContainer } from './kill-container.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { terminationOrder } from './actions/termination-order.ts';

/**
 * Stops every running container of a pod side by side, sidecars after what they serve, then every sandbox. All of it is
 * tried; rejects with the first error. kubelet: kuberuntime_manager.go killPodWithSyncResult
 */
export async function killPod(
  deps: HookDeps,
  pod: Pod,
  podStatus: RuntimePodStatus,
  recorder: PodEventRecorder,
  gracePeriodOverride?: number,
): Promise<void> {
  const running = podStatus.containerStatuses.filter(({ state }) => state === 'running');
  const order = terminationOrder(pod, new Set(running.map(({ name }) => name)));
  const stops = new Map<string, Promise<void>>();
  const stopOf = (name: string): Promise<void> => {
    const begun = stops.get(name) ?? stop(name);
    stops.set(name, begun);
    return begun;
  };
  const stop = (name: string): Promise<void> => {
    const before = order.get(name) ?? [];
    const kill = {
      containerID: running.find((status) => status.name === name)?.id ?? '',
      name,
      message: '',
      reason: '' as const,
      podIPs: podStatus.ips,
      ...(gracePeriodOverride === undefined ? {} : { gracePeriodOverride }),
      ...(before.length === 0 ? {} : { turn: () => Promise.allSettled(before.map(stopOf)) }),
    };
    return killContainer(deps, pod, kill, recorder);
  };
  const stopped = await Promise.allSettled(running.map(({ name }) => stopOf(name)));
  const sandboxes = await Promise.allSettled(
    podStatus.sandboxStatuses.map(({ id }) => stopPodSandbox(deps.runtime, id)),
  );
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
