import type { Container, ContainerStatus, PodSpec } from '../../api/types.ts';

/** The runtime's status of one pod, in the kubelet's shape. kubelet: container/runtime.go PodStatus */
export interface RuntimePodStatus {
  uid: string;
  name: string;
  namespace: string;
  /** Addresses of the newest sandbox while it is ready, primary first. Empty for a host-network pod. */
  ips: string[];
  /** Every container of the pod in the runtime, newest first. Several with one name are instances of one container. */
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
  /** Milliseconds since the epoch, like every `…At` here. 0 if it did not happen. */
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
  /** The pod's grace period when the container was created, from an annotation. Used once the manifest is removed. */
  terminationGracePeriodSeconds?: number;
  /** Its preStop hook, from an annotation. Used once the manifest is removed. */
  preStop?: PreStopHook;
  /** The sandbox that it was created in. Undefined if unknown. */
  sandboxID?: string;
  /** What the runtime enforces. Undefined if it does not report that. */
  resources?: ReportedResources;
  /** The signal that stops it, such as `SIGTERM`. Undefined if the runtime does not report it. */
  stopSignal?: string;
  /** The user of its first process. Undefined if the runtime does not report it. */
  user?: NonNullable<ContainerStatus['user']>;
  /** True if the runtime lost the container and only our own record still shows it. */
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
  /** The network namespace that the sandbox was created with. */
  networkMode: 'pod' | 'node';
  /** Null if the runtime reported no network status. Empty if that status has no address. */
  ip: string | null;
}

/** True if a container of the pod runs or its sandbox is ready. */
export function mayBeRunning({ containerStatuses, sandboxStatuses }: RuntimePodStatus): boolean {
  return (
    containerStatuses.some(({ state }) => state === 'running') || sandboxStatuses.some(({ state }) => state === 'ready')
  );
}

/**
 * Returns the newest instance of a container in the runtime. kubelet: container/runtime.go FindContainerStatusByName
 */
export function findContainerStatus(podStatus: RuntimePodStatus, name: string): RuntimeContainerStatus | undefined {
  return podStatus.containerStatuses.find((status) => status.name === name);
}

/**
 * True if a regular container was started in the newest sandbox and that sandbox is ready, so the pod is initialized.
 * kubelet: container/helpers.go HasAnyActiveRegularContainerStarted
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
