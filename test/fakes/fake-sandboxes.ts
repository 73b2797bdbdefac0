import type { Clock } from '../../src/clock.ts';
import {
  ContainerEventResponse,
  ContainerEventType,
  ContainerState,
  ContainerStatus,
  NamespaceMode,
  PodSandboxState,
  PodSandboxStatus,
  type ContainerConfig,
  type Image,
  type PodSandboxConfig,
} from '../../src/cri/generated/cri.ts';
import { codes, Refusal } from './fake-calls.ts';

export interface FakeSandbox {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly status: PodSandboxStatus;
}

export interface FakeContainer {
  readonly id: string;
  readonly sandbox: FakeSandbox;
  readonly config: ContainerConfig;
  readonly status: ContainerStatus;
  /** Called once the container no longer runs. */
  readonly onExit: Set<() => void>;
}

export interface Exit {
  exitCode: number;
  /** Defaults to `Completed` for exit code 0, else `Error`. */
  reason?: string;
}

/**
 * The sandboxes and containers of a fake runtime, and all their transitions:
 *
 *   sandbox READY ──► NOTREADY ──► removed
 *   container CREATED ──► RUNNING ──► EXITED ──► removed
 *
 * Each transition calls `onEvent`. One that is not in the picture is refused as containerd refuses it.
 */
export class FakeSandboxes {
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly containers = new Map<string, FakeContainer>();
  /** By `pod/container`: the maximum that ever ran at once. */
  readonly mostRunning = new Map<string, number>();
  /** By pod: the maximum number of its revisions, identified by UID, that ever ran at once. */
  readonly mostRevisions = new Map<string, number>();
  /** The different images that ran at once, such as `app:1 app:2`. */
  readonly imagesAtOnce = new Set<string>();
  /** Returns the addresses for a new sandbox that is not on the host network. */
  ipsOf: (config: PodSandboxConfig) => string[] = () => [`10.88.${this.#made >> 8}.${this.#made & 255}`];

  readonly #clock: Clock;
  readonly #onEvent: (event: () => ContainerEventResponse) => void;
  #made = 0;
  #lastStampNs = 0n;

  /** `onEvent` creates the event only if somebody listens, because it contains the status of the whole pod. */
  constructor(clock: Clock, onEvent: (event: () => ContainerEventResponse) => void) {
    this.#clock = clock;
    this.#onEvent = onEvent;
  }

  runSandbox(config: PodSandboxConfig, runtimeHandler: string): FakeSandbox {
    const { metadata, labels, annotations } = config;
    const holder = [...this.sandboxes.values()].find((other) => sandboxName(other.config) === sandboxName(config));
    if (holder !== undefined) throw nameReserved('sandbox', sandboxName(config), holder.id);
    const id = this.#newId('sandbox');
    const options = config.linux?.securityContext?.namespaceOptions;
    const [ip = '', ...additionalIps] = options?.network === NamespaceMode.NODE ? [] : this.ipsOf(config);
    const sandbox: FakeSandbox = {
      id,
      config,
      status: PodSandboxStatus.fromPartial({
        id,
        metadata,
        state: PodSandboxState.SANDBOX_READY,
        createdAt: this.#stamp(),
        network: { ip, additionalIps: additionalIps.map((additional) => ({ ip: additional })) },
        linux: { namespaces: { options } },
        labels,
        annotations,
        runtimeHandler,
      }),
    };
    this.sandboxes.set(id, sandbox);
    this.#emit(ContainerEventType.CONTAINER_CREATED_EVENT, id, sandbox);
    this.#emit(ContainerEventType.CONTAINER_STARTED_EVENT, id, sandbox);
    return sandbox;
  }

  /** Kills its containers and removes its network. */
  stopSandbox(sandbox: FakeSandbox): void {
    for (const container of this.containersOf(sandbox)) this.exit(container, { exitCode: 137 });
    if (sandbox.status.state === PodSandboxState.SANDBOX_NOTREADY) return;
    sandbox.status.state = PodSandboxState.SANDBOX_NOTREADY;
    sandbox.status.network = { ip: '', additionalIps: [] };
    this.#emit(ContainerEventType.CONTAINER_STOPPED_EVENT, sandbox.id, sandbox);
  }

  removeSandbox(sandbox: FakeSandbox): void {
    this.stopSandbox(sandbox);
    for (const container of this.containersOf(sandbox)) this.remove(container);
    this.sandboxes.delete(sandbox.id);
    this.#emit(ContainerEventType.CONTAINER_DELETED_EVENT, sandbox.id, sandbox);
  }

  create(sandbox: FakeSandbox, config: ContainerConfig, image: Image): FakeContainer {
    if (sandbox.status.state !== PodSandboxState.SANDBOX_READY) {
      throw new Refusal(codes.unknown, `sandbox "${sandbox.id}" is not running`);
    }
    const name = reservedName(sandbox, config);
    const holder = [...this.containers.values()].find((other) => reservedName(other.sandbox, other.config) === name);
    if (holder !== undefined) throw nameReserved('container', name, holder.id);
    const id = this.#newId('container');
    const container: FakeContainer = {
      id,
      sandbox,
      config,
      onExit: new Set(),
      status: ContainerStatus.fromPartial({
        id,
        metadata: config.metadata,
        state: ContainerState.CONTAINER_CREATED,
        createdAt: this.#stamp(),
        image: { ...config.image, image: image.repoTags[0] ?? image.id },
        imageRef: image.repoDigests[0] ?? image.id,
        imageId: image.id,
        labels: config.labels,
        annotations: config.annotations,
        mounts: config.mounts,
        logPath: logPathOf(sandbox.config, config),
        resources: { linux: config.linux?.resources },
        stopSignal: config.stopSignal,
      }),
    };
    this.containers.set(id, container);
    this.#emit(ContainerEventType.CONTAINER_CREATED_EVENT, id, sandbox);
    return container;
  }

  start(container: FakeContainer): void {
    if (container.status.state !== ContainerState.CONTAINER_CREATED) throw wrongState(container);
    container.status.state = ContainerState.CONTAINER_RUNNING;
    container.status.startedAt = this.#stamp();
    this.#countRunning(container);
    this.#emit(ContainerEventType.CONTAINER_STARTED_EVENT, container.id, container.sandbox);
  }

  /** Makes the container exit. Does nothing if it does not run. */
  exit(container: FakeContainer, { exitCode, reason = exitCode === 0 ? 'Completed' : 'Error' }: Exit): void {
    if (container.status.state !== ContainerState.CONTAINER_RUNNING) return;
    Object.assign(container.status, {
      state: ContainerState.CONTAINER_EXITED,
      finishedAt: this.#stamp(),
      exitCode,
      reason,
    });
    for (const listener of container.onExit) listener();
    this.#emit(ContainerEventType.CONTAINER_STOPPED_EVENT, container.id, container.sandbox);
  }

  /** Makes a created container exit without a start. */
  failStart({ status }: FakeContainer, message: string): void {
    const failed = { exitCode: 128, reason: 'StartError', message, finishedAt: this.#stamp() };
    Object.assign(status, { state: ContainerState.CONTAINER_EXITED, ...failed });
  }

  /** Kills it first if it is running. */
  remove(container: FakeContainer): void {
    this.exit(container, { exitCode: 137 });
    this.containers.delete(container.id);
    this.#emit(ContainerEventType.CONTAINER_DELETED_EVENT, container.id, container.sandbox);
  }

  /** Removes it without reporting anything. */
  drop(container: FakeContainer): void {
    this.containers.delete(container.id);
    container.status.state = ContainerState.CONTAINER_UNKNOWN;
    for (const listener of container.onExit) listener();
  }

  containersOf(sandbox: FakeSandbox): FakeContainer[] {
    return [...this.containers.values()].filter((container) => container.sandbox === sandbox);
  }

  #countRunning(started: FakeContainer): void {
    const pod = podNameOf(started.sandbox);
    const running = [...this.containers.values()].filter(
      ({ status: { state } }) => state === ContainerState.CONTAINER_RUNNING,
    );
    const images = new Set(running.map(({ config }) => config.image?.userSpecifiedImage ?? ''));
    this.imagesAtOnce.add([...images].sort().join(' '));
    const ofPod = running.filter(({ sandbox }) => podNameOf(sandbox) === pod);
    const revisions = new Set(ofPod.map(({ sandbox }) => sandbox.config.metadata?.uid));
    this.mostRevisions.set(pod, Math.max(this.mostRevisions.get(pod) ?? 0, revisions.size));
    const container = containerNameOf(started);
    const instances = ofPod.filter((other) => containerNameOf(other) === container).length;
    const name = `${pod}/${container}`;
    this.mostRunning.set(name, Math.max(this.mostRunning.get(name) ?? 0, instances));
  }

  #emit(containerEventType: ContainerEventType, containerId: string, sandbox: FakeSandbox): void {
    const createdAt = this.#stamp();
    this.#onEvent(() =>
      ContainerEventResponse.fromPartial({
        containerId,
        containerEventType,
        createdAt,
        podSandboxStatus: sandbox.status,
        containersStatuses: this.containersOf(sandbox).map((container) => container.status),
      }),
    );
  }

  #newId(kind: string): string {
    this.#made += 1;
    return `${kind}${this.#made}`;
  }

  /** Nanoseconds since the epoch. Like a runtime's, two timestamps within one millisecond differ. */
  #stamp(): bigint {
    const nowNs = BigInt(Math.trunc(this.#clock.now())) * 1_000_000n;
    const sameMillisecond = this.#lastStampNs / 1_000_000n === nowNs / 1_000_000n;
    this.#lastStampNs = sameMillisecond ? this.#lastStampNs + 1n : nowNs;
    return this.#lastStampNs;
  }
}

export const podNameOf = ({ config }: FakeSandbox): string => config.metadata?.name ?? '';
export const containerNameOf = ({ config }: FakeContainer): string => config.metadata?.name ?? '';

export function wrongState({ id, status: { state } }: FakeContainer): Refusal {
  return new Refusal(codes.unknown, `container "${id}" is in ${state} state`);
}

function nameReserved(kind: string, name: string, holder: string): Refusal {
  return new Refusal(codes.unknown, `failed to reserve ${kind} name "${name}": name is reserved for "${holder}"`);
}

const sandboxName = ({ metadata }: PodSandboxConfig): string =>
  [metadata?.name, metadata?.namespace, metadata?.uid, metadata?.attempt].join('_');

/** Unique among all instances of the pod's containers, in any of the pod's sandboxes. */
const reservedName = ({ config: { metadata: pod } }: FakeSandbox, { metadata }: ContainerConfig): string =>
  [metadata?.name, pod?.name, pod?.namespace, pod?.uid, metadata?.attempt].join('_');

function logPathOf({ logDirectory }: PodSandboxConfig, { logPath }: ContainerConfig): string {
  return logDirectory === '' || logPath === '' ? '' : `${logDirectory}/${logPath}`;
}
