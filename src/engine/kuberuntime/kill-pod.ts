import type { Pod } from '../../api/types.ts';
import { hasSidecar, sidecarsOf } from '../../api/values/sidecars.ts';
import { unlessNotFound } from '../../cri/errors.ts';
import { settleAll } from '../../flow/settle-all.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import { killContainer } from './kill-container.ts';
import type { HookDeps } from './run-hook.ts';

/** A request to stop every container and sandbox of a pod. */
export interface PodKill {
  pod: Pod;
  podStatus: RuntimePodStatus;
  recorder: PodEventRecorder;
  /** Grace period in seconds that replaces the pod's. */
  gracePeriodOverride?: number | undefined;
}

/**
 * Stops all running containers of a pod in parallel, sidecars after the containers that they serve. Then stops every
 * sandbox. Rejects with the first error after trying everything. kubelet: kuberuntime_manager.go killPodWithSyncResult
 */
export async function killPod(
  deps: HookDeps,
  { pod, podStatus, recorder, gracePeriodOverride }: PodKill,
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
    const containerID = running.find((status) => status.name === name)?.id ?? '';
    const turn = before.length === 0 ? undefined : () => Promise.allSettled(before.map(stopOf));
    return killContainer(deps, pod, { containerID, name, podIPs: podStatus.ips, gracePeriodOverride, turn }, recorder);
  };
  const stopped = running.map(({ name }) => stopOf(name));
  await Promise.allSettled(stopped);
  await settleAll([...stopped, ...podStatus.sandboxStatuses.map(({ id }) => stopPodSandbox(deps.runtime, id))]);
}

/** Stops a sandbox. A missing one counts as stopped. */
export async function stopPodSandbox(runtime: RuntimeService, podSandboxId: string): Promise<void> {
  await unlessNotFound(runtime.stopPodSandbox({ podSandboxId }));
}

/**
 * For each running container, the running containers that stop before it. A sidecar waits for all regular containers
 * and for the sidecar after it, for at most the remaining grace period. kubelet: kuberuntime_termination_order.go
 * newTerminationOrdering
 */
export function terminationOrder(pod: Pod, running: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
  const order = new Map<string, readonly string[]>([...running].map((name) => [name, []]));
  if (!hasSidecar(pod.spec)) return order;

  const regular = pod.spec.containers.map(({ name }) => name).filter((name) => running.has(name));
  const sidecars = sidecarsOf(pod.spec).map(({ name }) => name);
  for (const [i, name] of sidecars.entries()) {
    if (!running.has(name)) continue;
    // A later sidecar that has already exited breaks the chain.
    const next = sidecars.slice(i + 1, i + 2).filter((later) => running.has(later));
    order.set(name, [...regular, ...next]);
  }
  return order;
}
