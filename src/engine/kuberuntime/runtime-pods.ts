import { dependsOnAnnotation } from '../../api/values/depends-on.ts';
import { boundedText } from '../../text/bounded-text.ts';
import { unlessNotFound } from '../../cri/errors.ts';
import { newestFirst } from '../../cri/newest-first.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { CallOptions } from '../../cri/service.ts';
import type { Container, ContainerStatus, PodSandbox, PodSandboxStatus } from '../../cri/types.ts';
import { textLimits } from '../../text/text-limits.ts';
import { configAnnotations, isSourceName } from '../../api/values/config-annotations.ts';
import { quotaToMilliCPU, sharesToMilliCPU } from '../container-manager/cpu-conversion.ts';
import { ContainerExits } from '../container/container-exits.ts';
import type { RuntimeContainer, RuntimePod } from '../container/runtime-pod.ts';
import { criAnnotations, criLabels } from '../container/labels.ts';
import { stopSignalName } from '../container/stop-signal.ts';
import type {
  PreStopHook,
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../container/runtime-pod-status.ts';

/** Adds the container's termination message to the runtime's message. */
export type ReadTerminationMessage = (status: ContainerStatus) => Promise<string>;

interface Deps {
  runtime: RuntimeService;
  readTerminationMessage: ReadTerminationMessage;
  /** Container exits that events reported before the runtime's status did. Empty by default. */
  exits?: ContainerExits;
  /** Feature gate ContainerStopSignals: statuses have the signal that stops a container. Off by default. */
  withStopSignals?: boolean;
}

/**
 * Reads pods from the runtime and joins sandboxes and containers by pod UID. kubelet: kuberuntime_manager.go GetPods,
 * GetPodStatus
 */
export class RuntimePods {
  private readonly runtime: RuntimeService;
  private readonly exits: ContainerExits;
  /** Final statuses of exited containers, by pod UID and container id. */
  private readonly exited = new Map<string, ReadonlyMap<string, ContainerStatus>>();

  constructor(private readonly deps: Deps) {
    this.runtime = deps.runtime;
    this.exits = deps.exits ?? new ContainerExits();
  }

  /** All pods in the runtime, or the one with this UID, newest first. */
  async getPods({ signal, uid }: { signal?: AbortSignal; uid?: string }): Promise<RuntimePod[]> {
    const options = signal === undefined ? {} : { signal };
    const request = uid === undefined ? {} : { filter: { labelSelector: { [criLabels.podUID]: uid } } };
    const endedBefore = uid === undefined ? this.exits.ids() : [];
    const [{ items }, { containers }] = await Promise.all([
      this.runtime.listPodSandbox(request, options),
      this.runtime.listContainers(request, options),
    ]);
    if (endedBefore.length > 0) {
      const listed = new Set(containers.map(({ id }) => id));
      this.exits.drop(endedBefore.filter((id) => !listed.has(id)));
    }
    const pods = joinPods(items, containers, this.exits);
    this.dropExited(pods, uid);
    return pods;
  }

  /** Reads one container's status. Resolves with undefined if the runtime does not have it. */
  async getContainerStatus(id: string, options: CallOptions): Promise<RuntimeContainerStatus | undefined> {
    const status = (await unlessNotFound(this.runtime.containerStatus({ containerId: id }, options)))?.status;
    return status && this.toContainerStatus(status);
  }

  /** Pod UID of a container or sandbox. Resolves with undefined if the id is unknown or belongs to no pod. */
  async podUIDOf(id: string, signal: AbortSignal): Promise<string | undefined> {
    const [container, sandbox] = await Promise.all([
      unlessNotFound(this.runtime.containerStatus({ containerId: id }, { signal })),
      unlessNotFound(this.runtime.podSandboxStatus({ podSandboxId: id }, { signal })),
    ]);
    return container?.status?.labels[criLabels.podUID] ?? sandbox?.status?.metadata?.uid;
  }

  /**
   * Reads the status of one pod. Sandboxes and containers that are removed meanwhile count as absent. Does not list the
   * pod again if `listed` from `getPods` is given.
   */
  async getPodStatus(
    uid: string,
    { listed, signal }: { listed?: RuntimePod; signal?: AbortSignal } = {},
  ): Promise<RuntimePodStatus> {
    const options = signal === undefined ? {} : { signal };
    const pod = listed ?? (await this.getPods({ uid, ...options }))[0];
    const [sandboxes, statuses] = await Promise.all([
      present(
        (pod?.sandboxes ?? []).map(
          async ({ id }) => (await this.runtime.podSandboxStatus({ podSandboxId: id }, options)).status,
        ),
      ),
      this.containerStatuses(uid, pod?.containers ?? [], options),
    ]);
    const sandboxStatuses = sandboxes.sort(newestFirst);
    const newest = sandboxStatuses[0];
    const sandboxOf = new Map(pod?.containers.map(({ id, sandboxID }) => [id, sandboxID]));
    return {
      uid,
      name: newest?.metadata?.name ?? pod?.name ?? '',
      namespace: newest?.metadata?.namespace ?? pod?.namespace ?? '',
      ips: newest === undefined ? [] : sandboxIPs(newest),
      sandboxStatuses: sandboxStatuses.map(toSandboxStatus),
      containerStatuses: await Promise.all(
        statuses.sort(newestFirst).map((status) => this.toContainerStatus(status, sandboxOf.get(status.id))),
      ),
    };
  }

  /** Drops the exited containers of pods that are no longer listed. */
  private dropExited(listed: readonly RuntimePod[], uid: string | undefined): void {
    const there = new Set(listed.map((pod) => pod.uid));
    for (const known of uid === undefined ? [...this.exited.keys()] : [uid])
      if (!there.has(known)) this.exited.delete(known);
  }

  private async toContainerStatus(reported: ContainerStatus, sandboxID?: string): Promise<RuntimeContainerStatus> {
    const status = this.exits.complete(reported);
    const converted = toContainerStatus(status, await this.deps.readTerminationMessage(status));
    const stopSignal = this.deps.withStopSignals === true ? stopSignalName(status.stopSignal) : undefined;
    return {
      ...converted,
      ...(sandboxID !== undefined && { sandboxID }),
      ...(stopSignal !== undefined && { stopSignal }),
    };
  }

  /** Reads each exited container once, because otherwise init containers and old instances would cause most calls. */
  private async containerStatuses(
    uid: string,
    listed: readonly RuntimeContainer[],
    options: CallOptions,
  ): Promise<ContainerStatus[]> {
    const known = this.exited.get(uid);
    const statuses = await present(
      listed.map(
        async ({ id, state }) =>
          (state === 'exited' ? known?.get(id) : undefined) ??
          withBoundedTexts((await this.runtime.containerStatus({ containerId: id }, options)).status),
      ),
    );
    const ended = statuses.filter(({ state }) => state === 'CONTAINER_EXITED');
    if (ended.length === 0) this.exited.delete(uid);
    else this.exited.set(uid, new Map(ended.map((status) => [status.id, status])));
    return statuses;
  }
}

/** Limits the length of reason and message, because they are cached. */
function withBoundedTexts(status: ContainerStatus | undefined): ContainerStatus | undefined {
  if (status === undefined) return undefined;
  const { reason, message } = status;
  return {
    ...status,
    reason: boundedText(reason, textLimits.event),
    message: boundedText(message, textLimits.message),
  };
}

function joinPods(
  sandboxes: readonly PodSandbox[],
  containers: readonly Container[],
  exits: ContainerExits,
): RuntimePod[] {
  const pods = new Map<string, RuntimePod>();
  const podOf = (uid: string, name: string, namespace: string): RuntimePod => {
    const pod = pods.get(uid) ?? { uid, name, namespace, createdAt: 0, sandboxes: [], containers: [] };
    pods.set(uid, pod);
    return pod;
  };
  for (const { id, metadata, annotations, state, createdAt } of byID(sandboxes)) {
    if (metadata === undefined) continue;
    const pod = podOf(metadata.uid, metadata.name, metadata.namespace);
    const source = annotations[configAnnotations.source];
    if (isSourceName(source)) pod.source = source;
    const dependsOn = annotations[dependsOnAnnotation];
    if (dependsOn !== undefined) pod.dependsOn = dependsOn;
    const created = millis(createdAt);
    pod.createdAt = Math.max(pod.createdAt, created);
    pod.sandboxes.push({ id, state: state === 'SANDBOX_READY' ? 'ready' : 'notready', createdAt: created });
  }
  for (const { id, labels, metadata, state, createdAt, podSandboxId } of byID(containers)) {
    const uid = labels[criLabels.podUID];
    // Ignore a container without a pod UID, which no kubelet created.
    if (uid === undefined || metadata === undefined) continue;
    const pod = podOf(uid, labels[criLabels.podName] ?? '', labels[criLabels.podNamespace] ?? '');
    pod.containers.push({
      id,
      name: labels[criLabels.containerName] ?? metadata.name,
      state: exits.stateOf(id, containerState(state)),
      createdAt: millis(createdAt),
      sandboxID: podSandboxId,
    });
  }
  return [...pods.values()].sort((a, b) => b.createdAt - a.createdAt);
}

/** Drops duplicates in a listing, because a pod with two ready sandboxes would be stopped. */
function byID<T extends { id: string }>(listed: readonly T[]): Iterable<T> {
  return new Map(listed.map((one) => [one.id, one])).values();
}

/** kubelet: kuberuntime_container.go toKubeContainerStatus */
function toContainerStatus(status: ContainerStatus, message: string): RuntimeContainerStatus {
  const { annotations, labels } = status;
  const grace = annotations[criAnnotations.terminationGracePeriod];
  const preStop = preStopHook(annotations);
  return {
    id: status.id,
    name: labels[criLabels.containerName] ?? status.metadata?.name ?? '',
    state: containerState(status.state),
    createdAt: millis(status.createdAt),
    startedAt: millis(status.startedAt),
    finishedAt: millis(status.finishedAt),
    exitCode: status.exitCode,
    image: status.image?.image ?? '',
    imageRef: status.imageRef,
    hash: parsedOr(0, annotations[criAnnotations.containerHash], 16),
    restartCount: parsedOr(0, annotations[criAnnotations.restartCount], 10),
    reason: status.reason,
    message,
    ...reportedResources(status),
    ...reportedUser(status),
    ...(grace === undefined ? {} : { terminationGracePeriodSeconds: parsedOr(0, grace, 10) }),
    ...(preStop === undefined ? {} : { preStop }),
  };
}

/** kubelet: kuberuntime/helpers_linux.go toKubeContainerResources */
function reportedResources({ resources }: ContainerStatus): Pick<RuntimeContainerStatus, 'resources'> {
  const linux = resources?.linux;
  if (linux === undefined) return {};
  const { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes } = linux;
  return {
    resources: {
      ...(cpuShares > 0n && { cpuRequestMilli: sharesToMilliCPU(cpuShares) }),
      ...(cpuQuota > 0n && cpuPeriod > 0n && { cpuLimitMilli: quotaToMilliCPU(cpuQuota, cpuPeriod) }),
      ...(memoryLimitInBytes > 0n && { memoryLimitBytes: memoryLimitInBytes }),
    },
  };
}

/** kubelet: kuberuntime/kuberuntime_container_linux.go toKubeContainerUser */
function reportedUser({ user }: ContainerStatus): Pick<RuntimeContainerStatus, 'user'> {
  if (user?.linux === undefined) return {};
  const { uid, gid, supplementalGroups } = user.linux;
  const groups = supplementalGroups.map(Number);
  return {
    user: { linux: { uid: Number(uid), gid: Number(gid), ...(groups.length > 0 && { supplementalGroups: groups }) } },
  };
}

/** kubelet: kuberuntime/labels.go getContainerInfoFromAnnotations */
function preStopHook(annotations: Readonly<Record<string, string>>): PreStopHook | undefined {
  const { [criAnnotations.preStopHandler]: handler, [criAnnotations.ports]: ports = '[]' } = annotations;
  if (handler === undefined) return undefined;
  try {
    return { handler: JSON.parse(handler) as PreStopHook['handler'], ports: JSON.parse(ports) as PreStopHook['ports'] };
  } catch {
    // Another program wrote the annotation.
    return undefined;
  }
}

function toSandboxStatus({ id, metadata, state, createdAt, network, linux }: PodSandboxStatus): RuntimeSandboxStatus {
  return {
    id,
    attempt: metadata?.attempt ?? 0,
    state: state === 'SANDBOX_READY' ? 'ready' : 'notready',
    createdAt: millis(createdAt),
    networkMode: linux?.namespaces?.options?.network === 'NODE' ? 'node' : 'pod',
    ip: network === undefined ? null : network.ip,
  };
}

/** Addresses of the newest sandbox, only while it is ready. kubelet: kuberuntime_sandbox.go determinePodSandboxIPs */
function sandboxIPs({ state, network, linux }: PodSandboxStatus): string[] {
  const isOnHost = linux?.namespaces?.options?.network === 'NODE';
  return state === 'SANDBOX_READY' && !isOnHost ? networkIPs(network) : [];
}

/** All addresses, the primary one first. */
export function networkIPs(network: PodSandboxStatus['network']): string[] {
  const { ip = '', additionalIps = [] } = network ?? {};
  return [ip, ...additionalIps.map((additional) => additional.ip)].filter((address) => address !== '');
}

function containerState(state: Container['state']): RuntimeContainerState {
  switch (state) {
    case 'CONTAINER_CREATED':
      return 'created';
    case 'CONTAINER_RUNNING':
      return 'running';
    case 'CONTAINER_EXITED':
      return 'exited';
    case 'CONTAINER_UNKNOWN':
    case 'UNRECOGNIZED':
      return 'unknown';
  }
}

async function present<T>(reads: readonly Promise<T | undefined>[]): Promise<T[]> {
  const settled = await Promise.all(reads.map(unlessNotFound));
  return settled.filter((value) => value !== undefined);
}

/** CRI times are nanoseconds. */
const millis = (nanos: bigint): number => Number(nanos / 1_000_000n);

function parsedOr(fallback: number, text: string | undefined, radix: number): number {
  const value = Number.parseInt(text ?? '', radix);
  return Number.isNaN(value) ? fallback : value;
}
