import type { Pod } from '../../api/types.ts';
import { initAndRegularContainers } from '../../api/values/containers.ts';
import type { Clock } from '../../clock.ts';
import { isUnimplemented } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { errorMessage } from '../../errors.ts';
import type { PodCgroupResize } from '../container-manager/container-manager.ts';
import type { ExclusiveCPUs } from '../container-manager/resource-managers/exclusive-cpus.ts';
import type { SyncResult } from '../container/sync-result.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';
import type { ContainerToResize, OutdatedResources } from './actions/compute-resize-actions.ts';
import { createCall } from './create-call.ts';
import { containerResources, type NodeResources } from './request/linux-resources.ts';

export interface ResizeDeps {
  runtime: Pick<RuntimeService, 'updateContainerResources'>;
  podCgroups: PodCgroupResize;
  node: { containerNode: { resources: NodeResources } };
  exclusiveCPUs: ExclusiveCPUs;
  clock: Clock;
}

/** A resize of a running pod. */
export interface SyncedResize {
  outdated: OutdatedResources;
  /** Called for each resized container. */
  onResized: (containerID: string) => void;
  /** Called once the pod's cgroup and all running containers have their new resources. */
  onFinished: () => void;
}

export interface PodResize extends SyncedResize {
  pod: Pod;
  containersToResize: readonly ContainerToResize[];
  recorder: PodEventRecorder;
  signal: AbortSignal;
  /** Called for a container that the runtime cannot update. */
  onRefused: (containerID: string) => void;
}

/**
 * Resizes running containers without a restart. Raises the pod's cgroup before its containers and lowers it after them,
 * so that neither limits the other too early. Resolves with results that include failures; the next sync repeats
 * everything. Rejects only if aborted. kubelet: kuberuntime_manager.go doPodResizeAction
 */
export async function resizePod(deps: ResizeDeps, resize: PodResize): Promise<SyncResult[]> {
  const { pod, outdated, containersToResize, recorder } = resize;
  const { podCgroups } = deps;
  const target = pod.metadata.name;

  // Step 1: raise the pod's cgroup so that the earlier and the next resources fit.
  const raised = await attempt(target, () => podCgroups.raise(withResources(pod, outdated, containersToResize), pod));
  if (raised.error !== undefined) return failed(recorder, [raised]);

  // Step 2: resize the containers. A failed one does not block the others.
  const results: SyncResult[] = [];
  for (const container of containersToResize) results.push(await resizeContainer(deps, resize, container));
  if (results.some(({ error }) => error !== undefined)) return failed(recorder, results);

  // Step 3: lower the pod's cgroup to the next resources.
  const lowered = await attempt(target, () => podCgroups.resize(pod));
  if (lowered.error !== undefined) return failed(recorder, [...results, lowered]);
  resize.onFinished();
  return results;
}

async function resizeContainer(
  { runtime, node, exclusiveCPUs, clock }: ResizeDeps,
  { pod, recorder, signal, onResized, onRefused }: PodResize,
  { containerID, name, changes }: ContainerToResize,
): Promise<SyncResult> {
  const container = initAndRegularContainers(pod.spec).find((other) => other.name === name);
  if (container === undefined) return { action: 'resizePod', target: name };
  const linux = containerResources(pod, container, node.containerNode.resources, exclusiveCPUs(pod));
  const result = await attempt(name, () =>
    createCall(clock, signal, (options) =>
      runtime.updateContainerResources({ containerId: containerID, linux }, options),
    ),
  );
  signal.throwIfAborted();
  if (result.error === undefined) {
    onResized(containerID);
    if (changes.length > 0) {
      recorder.normal(reasons.resized, `Resized container ${name} without a restart: ${changes.join(', ')}`, name);
    }
  } else if (isUnimplemented(result.error)) onRefused(containerID);
  return result;
}

async function attempt(target: string, act: () => Promise<unknown>): Promise<SyncResult> {
  try {
    await act();
    return { action: 'resizePod', target };
  } catch (error) {
    return { action: 'resizePod', target, error, reason: reasons.resizeError, message: errorMessage(error) };
  }
}

function failed(recorder: PodEventRecorder, results: SyncResult[]): SyncResult[] {
  for (const { target, error, message = '' } of results) {
    if (error !== undefined) recorder.warning(reasons.resizeError, `Resizing ${target} in place failed: ${message}`);
  }
  return results;
}

/** Returns the pod with the resources that its containers currently have. */
function withResources(pod: Pod, outdated: OutdatedResources, resizes: readonly ContainerToResize[]): Pod {
  const before = new Map(resizes.map(({ name, containerID }) => [name, outdated[containerID]]));
  const earlier = <C extends { name: string }>(container: C): C =>
    before.has(container.name) ? { ...container, resources: before.get(container.name) } : container;
  const { initContainers, containers } = pod.spec;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(initContainers !== undefined && { initContainers: initContainers.map(earlier) }),
      containers: containers.map(earlier),
    },
  };
}
