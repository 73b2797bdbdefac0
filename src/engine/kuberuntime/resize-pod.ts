import { isDeepStrictEqual } from 'node:util';
import type { Container, Pod, PodSpec } from '../../api/types.ts';
import { findContainer } from '../../api/values/containers.ts';
import { formatPod } from '../../api/values/pod-names.ts';
import { memoryBytes, milliCPU } from '../../api/values/resource-amounts.ts';
import { toTotals } from '../../api/values/resource-totals.ts';
import type { Clock } from '../../clock.ts';
import { isUnimplemented } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { PodCgroupResize } from '../container-manager/container-manager.ts';
import { milliCPUToShares } from '../container-manager/cpu-conversion.ts';
import type { CgroupLimits } from '../container-manager/pod-cgroup-limits.ts';
import type { ExclusiveCPUs } from '../container-manager/resource-managers/exclusive-cpus.ts';
import type { SyncResult } from '../container/sync-result.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';
import { computeLimitChanges, largerQuota, type LimitChange, unlimitedBytes } from './actions/compute-limit-changes.ts';
import type { ContainerToResize, OutdatedResources } from './actions/compute-resize-actions.ts';
import { createCall } from './create-call.ts';
import {
  containerResources,
  type LinuxContainerResources,
  type NodeResources,
  overheadResources,
} from './request/linux-resources.ts';

export interface ResizeDeps {
  runtime: Pick<RuntimeService, 'listContainerStats' | 'updateContainerResources' | 'updatePodSandboxResources'>;
  podCgroups: PodCgroupResize;
  node: { containerNode: { resources: NodeResources } };
  exclusiveCPUs: ExclusiveCPUs;
  clock: Clock;
  logger: Logger;
}

/** A resize of a running pod. */
export interface SyncedResize {
  outdated: OutdatedResources;
  /** Resources of the whole pod that its cgroup still has from an earlier revision. */
  outdatedPod?: PodSpec['resources'];
  /** Called for each resized container. */
  onResized: (containerID: string) => void;
  /** Called once the pod's cgroup and all running containers have their new resources. */
  onFinished: () => void;
}

export interface PodResize extends SyncedResize {
  pod: Pod;
  sandboxID: string;
  containersToResize: readonly ContainerToResize[];
  /** Containers that were stopped because their resize requires a restart. */
  containersToRestart: readonly Pick<ContainerToResize, 'name' | 'containerID'>[];
  recorder: PodEventRecorder;
  signal: AbortSignal;
  /** Called for a container that the runtime cannot update. */
  onRefused: (containerID: string) => void;
}

/**
 * Resizes running containers without a restart: first their memory, then their CPU. Resolves with results that include
 * failures; the next sync repeats everything. Rejects only if aborted. kubelet: kuberuntime_manager.go
 * doPodResizeAction
 */
export async function resizePod(deps: ResizeDeps, resize: PodResize): Promise<SyncResult[]> {
  const { pod, containersToResize, recorder, signal } = resize;
  const target = pod.metadata.name;

  // Step 1: check that the pod and its containers use no more memory than they may.
  const prepared = await attempt(target, async () => {
    await deps.podCgroups.prepare(pod);
    await rejectMemoryInUse(deps, resize);
  });
  signal.throwIfAborted();
  if (prepared.error !== undefined) return failed(recorder, [prepared]);

  // Step 2: resize the pod's cgroup and its containers.
  const earlier = earlierPod(resize);
  const between = mixedPod(earlier, pod);
  const refused = new Map<string, SyncResult>();
  const updated = new Set<string>();
  for (const [from, to] of [
    [earlier, between],
    [between, pod],
  ] as const) {
    const changed = await resizeStage(deps, resize, { from, to, refused, updated });
    if (changed.error !== undefined) return failed(recorder, [changed]);
  }
  const results = containersToResize.map(
    ({ name }): SyncResult => refused.get(name) ?? { action: 'resizePod', target: name },
  );
  for (const { containerID, name, changes } of containersToResize) {
    if (!refused.has(name)) resized(resize, containerID, name, changes);
  }
  if (refused.size > 0) {
    await raiseQuota(deps, pod, earlier);
    return failed(recorder, results);
  }

  // Step 3: set all limits, also those that an interrupted resize left.
  const settled = await attempt(target, () => deps.podCgroups.resize(pod));
  signal.throwIfAborted();
  if (settled.error !== undefined) return failed(recorder, [...results, settled]);
  resize.onFinished();
  return results;
}

/** Rejects if a container uses more memory than its new limit, because the kernel could kill its processes. */
async function rejectMemoryInUse(
  { runtime, clock }: ResizeDeps,
  { pod, sandboxID, outdated, containersToResize, signal }: PodResize,
): Promise<void> {
  const limitOf = (resources: Resources = {}): bigint => memoryBytes(toTotals(resources.limits));
  const lowered = containersToResize.flatMap(({ containerID, name }) => {
    const [before, limit] = [limitOf(outdated[containerID]), limitOf(findContainer(pod.spec, name)?.resources)];
    return limit > 0n && (before === 0n || limit < before) ? [{ containerID, name, limit }] : [];
  });
  if (lowered.length === 0) return;
  const request = { filter: { podSandboxId: sandboxID } };
  const { stats } = await createCall(clock, signal, (options) => runtime.listContainerStats(request, options));
  for (const { containerID, name, limit } of lowered) {
    const { memory } = stats.find(({ attributes }) => attributes?.id === containerID) ?? {};
    const usage = memory?.workingSetBytes?.value ?? 0n;
    if (usage >= limit)
      throw new Error(`container ${name} uses ${usage} bytes of memory, but its new limit is ${limit}`);
  }
}

function resized({ recorder, onResized }: PodResize, id: string, name: string, changes: readonly string[]): void {
  onResized(id);
  if (changes.length === 0) return;
  recorder.normal(reasons.resizeCompleted, `Resized container ${name} without a restart: ${changes.join(', ')}`, name);
}

/**
 * Prepares the next attempt: an interrupted resize may have lowered the pod's quota already, and cgroup v1 refuses a
 * container that has more than its pod.
 */
async function raiseQuota({ podCgroups }: ResizeDeps, pod: Pod, earlier: Pod): Promise<void> {
  const quota = largerQuota(podCgroups.limitsOf(earlier), podCgroups.limitsOf(pod));
  if (quota !== undefined) await attempt(pod.metadata.name, () => podCgroups.set(pod, quota));
}

interface Stage {
  from: Pod;
  to: Pod;
  /** Failures of containers, by name. A failed container does not block the others, but the pod is not lowered. */
  refused: Map<string, SyncResult>;
  /** Names of containers that were updated at least once. */
  updated: Set<string>;
}

async function resizeStage(deps: ResizeDeps, resize: PodResize, stage: Stage): Promise<SyncResult> {
  const { from, to, refused } = stage;
  const { podCgroups } = deps;
  const { pod, containersToResize } = resize;
  let limits = podCgroups.limitsOf(from);
  const { raise, lower } = computeLimitChanges(limits, podCgroups.limitsOf(to));
  const change = (changes: readonly LimitChange[]): Promise<SyncResult> =>
    attempt(pod.metadata.name, async () => {
      for (const one of changes) {
        await podCgroups.set(pod, one);
        limits = { ...limits, ...one };
        await updateSandbox(deps, resize, limits);
      }
    });
  const raised = await change(raise);
  if (raised.error !== undefined) return raised;
  for (const container of containersToResize) {
    if (refused.has(container.name)) continue;
    const result = await resizeContainer(deps, resize, container, stage);
    if (result.error !== undefined) refused.set(container.name, result);
  }
  return refused.size > 0 ? raised : change(lower);
}

/** Tells the runtime which limits the pod's cgroup has now. Few runtimes need to know. */
async function updateSandbox(
  { runtime, node, clock, logger }: ResizeDeps,
  { pod, sandboxID, signal }: PodResize,
  { cpuShares = 0, cpuQuotaMicros = -1, cpuPeriodMicros, memoryBytes = unlimitedBytes }: CgroupLimits,
): Promise<void> {
  const { resources: settings } = node.containerNode;
  const resources = {
    cpuShares: BigInt(cpuShares),
    cpuQuota: BigInt(cpuQuotaMicros),
    cpuPeriod: BigInt(cpuPeriodMicros ?? settings.cpuCFSQuotaPeriodMicros),
    memoryLimitInBytes: memoryBytes,
  };
  const request = { podSandboxId: sandboxID, overhead: overheadResources(pod, settings), resources };
  try {
    await createCall(clock, signal, (options) => runtime.updatePodSandboxResources(request, options));
  } catch (error) {
    signal.throwIfAborted();
    if (isUnimplemented(error)) return;
    logger.debug({ pod: formatPod(pod), err: errorMessage(error) }, 'The runtime refused the new limits of a pod');
  }
}

async function resizeContainer(
  { runtime, node, exclusiveCPUs, clock }: ResizeDeps,
  { pod: next, signal, onRefused }: PodResize,
  { containerID, name }: ContainerToResize,
  { from, to, updated }: Stage,
): Promise<SyncResult> {
  const linuxOf = (pod: Pod): LinuxContainerResources | undefined => {
    const container = findContainer(pod.spec, name);
    if (container === undefined) return undefined;
    const resources = containerResources(pod, container, node.containerNode.resources, exclusiveCPUs(pod));
    // The pod's limit determines the shares only when the container is created, as in the kubelet.
    return { ...resources, cpuShares: milliCPUToShares(milliCPU(toTotals(container.resources?.requests))) };
  };
  const linux = linuxOf(to);
  // After an interrupted resize that was taken back, nothing differs.
  const isDue = !isDeepStrictEqual(linux, linuxOf(from)) || (to === next && !updated.has(name));
  if (linux === undefined || !isDue) return { action: 'resizePod', target: name };
  updated.add(name);
  const result = await attempt(name, () =>
    createCall(clock, signal, (options) =>
      runtime.updateContainerResources({ containerId: containerID, linux }, options),
    ),
  );
  signal.throwIfAborted();
  if (isUnimplemented(result.error)) onRefused(containerID);
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

/** The pod with the resources that it and its containers had before. */
function earlierPod({ pod, outdated, outdatedPod, containersToResize, containersToRestart }: PodResize): Pod {
  const before = new Map(
    [...containersToResize, ...containersToRestart].map(({ name, containerID }) => [name, outdated[containerID]]),
  );
  const earlier = mapContainers(pod, (container) =>
    before.has(container.name) ? { ...container, resources: before.get(container.name) ?? {} } : container,
  );
  return outdatedPod === undefined ? earlier : { ...earlier, spec: { ...earlier.spec, resources: outdatedPod } };
}

/** The pod between two revisions: with the memory of the next one, and the CPU of the earlier one. */
function mixedPod(earlier: Pod, next: Pod): Pod {
  const mixed = mapContainers(next, (container) => {
    const resources = mixedResources(findContainer(earlier.spec, container.name)?.resources, container.resources);
    return { ...container, resources };
  });
  const { resources } = next.spec;
  if (resources === undefined) return mixed;
  return { ...mixed, spec: { ...mixed.spec, resources: mixedResources(earlier.spec.resources, resources) } };
}

type Resources = NonNullable<Container['resources']>;

function mixedResources(earlier: Resources = {}, next: Resources = {}): Resources {
  const mixed = (part: 'requests' | 'limits'): Record<string, string> => {
    const others = Object.entries(next[part] ?? {}).filter(([name]) => name !== 'cpu');
    const cpu = earlier[part]?.['cpu'];
    return { ...Object.fromEntries(others), ...(cpu !== undefined && { cpu }) };
  };
  return { ...next, requests: mixed('requests'), limits: mixed('limits') };
}

function mapContainers(pod: Pod, change: (container: Container) => Container): Pod {
  const { initContainers, containers } = pod.spec;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(initContainers !== undefined && { initContainers: initContainers.map(change) }),
      containers: containers.map(change),
    },
  };
}
