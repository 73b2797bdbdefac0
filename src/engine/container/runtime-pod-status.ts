import type { Container, ContainerStatus, PodSpec } from '../../api/types.ts';

/** The runtime's status of one pod, in the kubelet's shape. kubelet: container/runtime.go PodStatus */
export interface RuntimePodStatus {
  uid: string;
  name: string;
  namespace: string;
  /** Addresses of the newest sandbox while it is ready, primary first. Empty for a host-network pod. */
  ips: string[];
  /** Every container of the pod in the runtime, newest first. Several of one name are its earlier instances. */
  containerStatuses: RuntimeContainerStatus[];
  /** Every sandbox of the pod in the runtime, newest first. */
  sandboxStatuses: RuntimeSandboxStatus[];
}

export type RuntimeContainerState = 'created' | 'running' | 'exited' | 'unknown';

/** A preStop hook, with the ports that it may name. */
export interface PreStopHook {
  handler: NonNullable<NonNullable<Container['lifecycle']>['preStop']>;
  ports: NonNullable<Container['ports']>;
}

/** kubelet: container/runtime.go Status */
export interface RuntimeContainerStatus {
  id: string;
  name: string;
  state: RuntimeContainerState;
  /** Milliseconds since the epoch, as every `…At` here. 0 if it did not happen. */
  createdAt: number;
  startedAt: number;
  finishedAt: number;
  exitCode: number;
  /** Image as the runtime names it. */
  image: string;
  /** CRI `image_ref`, shown as `imageID` in the pod status. */
  imageRef: string;
  /** From the annotation `io.kubernetes.container.hash`. 0 if that is missing. */
  hash: number;
  restartCount: number;
  reason: string;
  message: string;
  /** The pod's grace period when the container was made, from an annotation. Used when the manifest is gone. */
  terminationGracePeriodSeconds?: number;
  /** Its preStop hook, from an annotation. Used when the manifest is gone. */
  preStop?: PreStopHook;
  /** The sandbox that it was made in. Undefined if unknown. */
  sandboxID?: string;
  /** What the runtime enforces. Undefined if it does not report that. */
  resources?: ReportedResources;
  /** The user of its first process. Undefined if the runtime does not report it. */
  user?: NonNullable<ContainerStatus['user']>;
  /** True if the runtime has lost the container, which only our record of it shows. */
  isLost?: true;
}

/** kubelet: container/runtime.go ContainerResources */
export interface ReportedResources {
  cpuRequestMilli?: bigint;
  cpuLimitMilli?: bigint;
  memoryLimitBytes?: bigint;
}

export interface RuntimeSandboxStatus {
  id: string;
  attempt: number;
  state: 'ready' | 'notready';
  createdAt: number;
  /** Network namespace the sandbox was made with. */
  networkMode: 'pod' | 'node';
  /** Null if the runtime reported no network part. Empty if that part has no address. */
  ip: string | null;
}

/** True if a container of the pod runs or its sandbox is ready. */
export function mayBeRunning({ containerStatuses, sandboxStatuses }: RuntimePodStatus): boolean {
  return (
    containerStatuses.some(({ state }) => state === 'running') || sandboxStatuses.some(({ state }) => state === 'ready')
  );
}

/** The newest instance of a container in the runtime. kubelet: container/runtime.go FindContainerStatusByName */
export function findContainerStatus(podStatus: RuntimePodStatus, name: string): RuntimeContainerStatus | undefined {
  return podStatus.containerStatuses.find((status) => status.name === name);
}

/**
 * True if a regular container was started in the newest sandbox, which is ready. So the pod is initialized. kubelet:
 * container/helpers.go HasAnyActiveRegularContainerStarted
 */
export function isPodInitialized(
  { containers }: Pick<PodSpec, 'containers'>,
  { sandboxStatuses: [newest], containerStatuses }: RuntimePodStatus,
): boolean {
  const regular = new Set(containers.map(({ name }) => name));
  if (newest?.state !== 'ready') return false;
  return containerStatuses.some(
    ({ name, state, sandboxID = newest.id }) =>
      regular.has(name) && sandboxID === newest.id && (state === 'running' || state === 'exited'),
  );
}
