import { EventEmitter, on } from 'node:events';
import type { Clock } from '../../src/clock.ts';
import {
  CgroupDriver,
  Container,
  ContainerState,
  PodSandbox,
  type ContainerEventResponse,
  type ContainerFilter,
  type ContainerStats,
  type ContainerStatus,
  type DeepPartial,
  type ExecSyncRequest,
  type ExecSyncResponse,
  type Image,
  type PodSandboxConfig,
  type PodSandboxFilter,
  type PodSandboxStats,
  type RuntimeCondition,
  type StatusResponse,
} from '../../src/cri/generated/cri.ts';
import type { ImageService } from '../../src/cri/image-service.ts';
import type { RuntimeService } from '../../src/cri/runtime-service.ts';
import { FakeCalls, codes, Refusal, type MethodName } from './fake-calls.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeImages } from './fake-images.ts';
import {
  containerNameOf,
  FakeSandboxes,
  podNameOf,
  wrongState,
  type FakeContainer,
  type FakeSandbox,
} from './fake-sandboxes.ts';

/** What a container does by itself. */
export interface ContainerScript {
  /** Exits this long after it started. By default, runs until it is stopped. */
  exitAfterMs?: number;
  /** Defaults to 0. */
  exitCode?: number;
  /** Exits this long after it was asked to stop. Infinity means never. By default, exits at once. */
  stopAfterMs?: number;
  /** Defaults to 143, killed by SIGTERM. */
  stopExitCode?: number;
}

/** A container id, or the newest container with this name in the pod with this name. */
export type ContainerRef = string | { pod: string; container: string };

type ExecHandler = (
  request: ExecSyncRequest & { pod: string; container: string },
) => DeepPartial<ExecSyncResponse> | Promise<DeepPartial<ExecSyncResponse>>;

/** What Exec, Attach or PortForward returns for this request: the address of a stream. Throws a `Refusal`. */
type StreamHandler = (method: 'exec' | 'attach' | 'portForward', request: object) => string;

/**
 * A container runtime in memory with containerd's semantics: both CRI services, and controls for tests. Pass it
 * directly to a component under test, or to a FakeCriServer to put a real socket in between.
 */
export class FakeRuntime extends FakeCalls implements RuntimeService, ImageService {
  readonly images = new FakeImages();
  /** Handlers and features that `Status` reports. */
  readonly capabilities: DeepPartial<Pick<StatusResponse, 'runtimeHandlers' | 'features'>> = {
    runtimeHandlers: [{ name: '', features: { userNamespaces: true, recursiveReadOnlyMounts: false } }],
    features: { supplementalGroupsPolicy: true },
  };
  /** Stats by container id, for containers that have any. */
  readonly stats = new Map<string, DeepPartial<ContainerStats>>();
  /** Stats of pods. If empty, the runtime does not support the call, like many others. */
  readonly podStats: DeepPartial<PodSandboxStats>[] = [];
  cgroupDriver: CgroupDriver = CgroupDriver.CGROUPFS;
  /** What a verbose status also contains, each as JSON. */
  statusInfo: Record<string, string> = {};
  /** Where it stores images. */
  imageMountpoint = '/var/lib/fake';
  /** Many runtimes do not support CheckpointContainer. */
  canCheckpoint = false;

  readonly #events = new EventEmitter();
  readonly #world: FakeSandboxes;
  readonly #scripts = new Map<string, ContainerScript>();
  readonly #stopping = new Set<string>();
  readonly #conditions = new Map<string, RuntimeCondition>();
  #exec: ExecHandler = () => ({});
  #stream: StreamHandler = (method) => `http://127.0.0.1:1/${method.toLowerCase()}`;
  #openLog: (container: ContainerStatus) => void = () => undefined;

  constructor({ clock = new FakeClock() }: { clock?: Clock } = {}) {
    super(clock);
    this.#world = new FakeSandboxes(clock, (event) => {
      if (this.#events.listenerCount('event') > 0) this.#events.emit('event', event());
    });
    this.setCondition('RuntimeReady', true);
    this.setCondition('NetworkReady', true);
  }

  // Controls.

  /** Every instance of `container` or `pod/container` follows this script from its next transition on. */
  script(containerName: string, script: ContainerScript): void {
    this.#scripts.set(containerName, script);
  }

  /** Sets what ExecSync returns. By default, exit code 0 and no output. */
  scriptExec(handler: ExecHandler): void {
    this.#exec = handler;
  }

  /**
   * Sets what Exec, Attach and PortForward return for running containers. By default, an address where nothing listens.
   */
  scriptStreams(handler: StreamHandler): void {
    this.#stream = handler;
  }

  /** Calls back with every container whose log the runtime opens: when it starts, and when it is asked to reopen it. */
  onOpenLog(handler: (container: ContainerStatus) => void): void {
    this.#openLog = handler;
  }

  /** Sets the addresses of sandboxes from now on; `[]` means none. Host-network sandboxes never have any. */
  scriptPodIPs(ipsOf: (config: PodSandboxConfig) => string[]): void {
    this.#world.ipsOf = ipsOf;
  }

  setCondition(type: string, ok: boolean, reason = '', message = ''): void {
    this.#conditions.set(type, { type, status: ok, reason, message });
  }

  /** Adds an image as if it had been pulled before. */
  addImage(name: string, image: DeepPartial<Image> = {}): Image {
    return this.images.add(name, image);
  }

  /** Makes a running container exit by itself. */
  exitContainer(
    ref: ContainerRef,
    exitCode: number,
    { reason, oom = false }: { reason?: string; oom?: boolean } = {},
  ): void {
    const container = this.#resolve(ref);
    if (container.status.state !== ContainerState.CONTAINER_RUNNING) throw wrongState(container);
    const exitReason = oom ? 'OOMKilled' : reason;
    this.#world.exit(container, exitReason === undefined ? { exitCode } : { exitCode, reason: exitReason });
  }

  /** Makes a created container exit as containerd does if the caller of its start is killed. */
  cutOffStart(ref: ContainerRef): void {
    this.#world.failStart(this.#resolve(ref), 'failed to create containerd task: context canceled');
  }

  /** Removes the container without a trace or an event, as if the runtime had lost it. */
  dropContainer(ref: ContainerRef): void {
    this.#world.drop(this.#resolve(ref));
  }

  /** Kills the pod's newest sandbox and its containers. */
  killSandbox(podName: string): void {
    const sandbox = [...this.#world.sandboxes.values()].findLast((candidate) => podNameOf(candidate) === podName);
    if (sandbox === undefined) throw new Error(`no sandbox of pod ${podName}`);
    this.#world.stopSandbox(sandbox);
  }

  /**
   * Acts as if the machine had been off: nothing runs any more and, if `forgets`, the runtime has lost all its state
   * because it keeps none on disk.
   */
  reboot({ forgets }: { forgets: boolean }): void {
    for (const sandbox of this.#world.sandboxes.values()) this.#world.stopSandbox(sandbox);
    if (!forgets) return;
    for (const container of this.#world.containers.values()) this.#world.drop(container);
    this.#world.sandboxes.clear();
  }

  /** Ends the open event streams, with an error if one is given. */
  endEventStreams(error?: Error): void {
    if (error === undefined) this.#events.emit('end');
    else if (this.#events.listenerCount('error') > 0) this.#events.emit('error', error);
  }

  /** Returns the running containers as `pod/container#attempt`, sorted. */
  running(): string[] {
    return [...this.#world.containers.values()]
      .filter((container) => container.status.state === ContainerState.CONTAINER_RUNNING)
      .map((container) => `${nameOf(container)}#${container.config.metadata?.attempt ?? 0}`)
      .sort();
  }

  /** Returns the maximum number of instances of this container that ever ran at once. Above 1, something ran twice. */
  maxConcurrentRunning(podName: string, containerName: string): number {
    return this.#world.mostRunning.get(`${podName}/${containerName}`) ?? 0;
  }

  /** Returns the maximum number of revisions of this pod that ever ran something at once. */
  maxConcurrentRevisions(podName: string): number {
    return this.#world.mostRevisions.get(podName) ?? 0;
  }

  /** Returns the different images that ever ran at once, such as `app:1 app:2`. */
  imagesAtOnce(): string[] {
    return [...this.#world.imagesAtOnce];
  }

  // The runtime.

  /** What the runtime says that it is. */
  readonly release = { runtimeName: 'fake', runtimeVersion: '1.0.0' };

  readonly version = this.unary('version', () => ({ version: '0.1.0', ...this.release, runtimeApiVersion: 'v1' }));

  readonly status = this.unary('status', ({ verbose }) => ({
    status: { conditions: [...this.#conditions.values()] },
    info: verbose ? this.statusInfo : {},
    ...this.capabilities,
  }));

  readonly runtimeConfig = this.unary('runtimeConfig', () => ({ linux: { cgroupDriver: this.cgroupDriver } }));

  readonly updateRuntimeConfig = this.unary('updateRuntimeConfig', () => ({}));

  readonly getContainerEvents = this.stream('getContainerEvents', (signal) => this.#subscribe(signal));

  // Sandboxes.

  readonly runPodSandbox = this.unary('runPodSandbox', ({ config, runtimeHandler }) => {
    if (config?.metadata === undefined) throw new Refusal(codes.unknown, 'sandbox config must include metadata');
    return { podSandboxId: this.#world.runSandbox(config, runtimeHandler).id };
  });

  readonly stopPodSandbox = this.unary('stopPodSandbox', ({ podSandboxId }) => {
    const sandbox = this.#world.sandboxes.get(podSandboxId);
    if (sandbox !== undefined) this.#world.stopSandbox(sandbox);
    return {};
  });

  readonly removePodSandbox = this.unary('removePodSandbox', ({ podSandboxId }) => {
    const sandbox = this.#world.sandboxes.get(podSandboxId);
    if (sandbox !== undefined) this.#world.removeSandbox(sandbox);
    return {};
  });

  readonly podSandboxStatus = this.unary('podSandboxStatus', ({ podSandboxId }) => ({
    status: this.#sandbox(podSandboxId).status,
  }));

  readonly listPodSandbox = this.unary('listPodSandbox', ({ filter }) => ({
    items: [...this.#world.sandboxes.values()]
      .filter((sandbox) => filter === undefined || isSandboxWanted(sandbox, filter))
      .map((sandbox) => PodSandbox.fromPartial(sandbox.status)),
  }));

  readonly updatePodSandboxResources = this.unary('updatePodSandboxResources', ({ podSandboxId }) => {
    this.#sandbox(podSandboxId);
    return {};
  });

  readonly portForward = this.unary('portForward', (request) => {
    this.#sandbox(request.podSandboxId);
    return { url: this.#stream('portForward', request) };
  });

  // Containers.

  readonly createContainer = this.unary('createContainer', ({ podSandboxId, config }) => {
    if (config?.metadata === undefined) throw new Refusal(codes.unknown, 'container config must include metadata');
    const sandbox = this.#sandbox(podSandboxId);
    const image = this.images.find(config.image?.image ?? '');
    if (image === undefined) throw notFound('image', config.image?.image ?? '');
    return { containerId: this.#world.create(sandbox, config, image).id };
  });

  readonly startContainer = this.unary('startContainer', ({ containerId }) => {
    const container = this.#container(containerId);
    this.#world.start(container);
    this.#openLog(container.status);
    const { exitAfterMs, exitCode = 0 } = this.#scriptOf(container);
    if (exitAfterMs !== undefined) this.#exitLater(container, exitAfterMs, exitCode);
    return {};
  });

  readonly stopContainer = this.unary('stopContainer', async ({ containerId, timeout }, signal) => {
    const container = this.#world.containers.get(containerId);
    if (container?.status.state !== ContainerState.CONTAINER_RUNNING) return {};
    if (timeout > 0n) await this.#terminate(container, Number(timeout) * 1000, signal);
    this.#world.exit(container, { exitCode: 137 });
    return {};
  });

  readonly removeContainer = this.unary('removeContainer', ({ containerId }) => {
    const container = this.#world.containers.get(containerId);
    if (container !== undefined) this.#world.remove(container);
    return {};
  });

  readonly containerStatus = this.unary('containerStatus', ({ containerId }) => ({
    status: this.#container(containerId).status,
  }));

  readonly listContainers = this.unary('listContainers', ({ filter }) => ({
    containers: [...this.#world.containers.values()]
      .filter((container) => filter === undefined || isContainerWanted(container, filter))
      .map((container) => Container.fromPartial({ ...container.status, podSandboxId: container.sandbox.id })),
  }));

  readonly updateContainerResources = this.unary('updateContainerResources', ({ containerId, linux }) => {
    this.#container(containerId).status.resources = { linux, windows: undefined };
    return {};
  });

  readonly reopenContainerLog = this.unary('reopenContainerLog', ({ containerId }) => {
    this.#openLog(this.#runningContainer(containerId).status);
    return {};
  });

  readonly execSync = this.unary('execSync', async (request, signal) => {
    const container = this.#runningContainer(request.containerId);
    const answer = Promise.resolve(
      this.#exec({ ...request, pod: podNameOf(container.sandbox), container: containerNameOf(container) }),
    );
    if (request.timeout <= 0n) return answer;
    const inTime = await this.#within(Number(request.timeout) * 1000, answer, signal);
    if (!inTime) throw new Refusal(codes.deadlineExceeded, `timeout ${request.timeout}s exceeded`);
    return answer;
  });

  readonly exec = this.unary('exec', (request) => {
    this.#runningContainer(request.containerId);
    return { url: this.#stream('exec', request) };
  });

  readonly attach = this.unary('attach', (request) => {
    this.#runningContainer(request.containerId);
    return { url: this.#stream('attach', request) };
  });

  readonly containerStats = this.unary('containerStats', ({ containerId }) => ({
    stats: this.#statsOf(this.#container(containerId)),
  }));

  readonly listContainerStats = this.unary('listContainerStats', ({ filter }) => ({
    stats: [...this.#world.containers.values()]
      .filter((container) => container.status.state === ContainerState.CONTAINER_RUNNING)
      .filter((container) => filter === undefined || isContainerWanted(container, { ...filter, state: undefined }))
      .map((container) => this.#statsOf(container)),
  }));

  readonly listPodSandboxStats = this.unary('listPodSandboxStats', () => {
    if (this.podStats.length === 0) throw unimplemented('listPodSandboxStats');
    return { stats: this.podStats };
  });

  // Images.

  readonly listImages = this.unary('listImages', ({ filter }) => {
    const name = filter?.image?.image ?? '';
    const found = this.images.find(name);
    return { images: name === '' ? this.images.list() : found === undefined ? [] : [found] };
  });

  readonly imageStatus = this.unary('imageStatus', ({ image }) => ({ image: this.images.find(image?.image ?? '') }));

  readonly pullImage = this.unary('pullImage', ({ image }) => {
    const name = image?.image ?? '';
    const pulled = this.images.pull(name);
    if (pulled === undefined) throw notFound('image', name);
    return { imageRef: pulled.id };
  });

  readonly removeImage = this.unary('removeImage', ({ image }) => {
    this.images.remove(image?.image ?? '');
    return {};
  });

  readonly imageFsInfo = this.unary('imageFsInfo', () => {
    const usedBytes = this.images.list().reduce((sum, { size }) => sum + size, 0n);
    const fsId = { mountpoint: this.imageMountpoint };
    const timestamp = BigInt(Math.floor(this.clock.now())) * 1_000_000n;
    return { imageFilesystems: [{ timestamp, fsId, usedBytes: { value: usedBytes }, inodesUsed: { value: 0n } }] };
  });

  readonly checkpointContainer = this.unary('checkpointContainer', ({ containerId }) => {
    if (!this.canCheckpoint) throw unimplemented('checkpointContainer');
    this.#container(containerId);
    return {};
  });

  // What the runtime does not support, like many real ones.

  readonly checkpointPod = this.#unimplemented('checkpointPod');
  readonly restorePod = this.#unimplemented('restorePod');
  readonly podSandboxStats = this.#unimplemented('podSandboxStats');
  readonly listMetricDescriptors = this.#unimplemented('listMetricDescriptors');
  readonly listPodSandboxMetrics = this.#unimplemented('listPodSandboxMetrics');
  readonly streamPodSandboxes = this.#unimplementedStream('streamPodSandboxes');
  readonly streamContainers = this.#unimplementedStream('streamContainers');
  readonly streamContainerStats = this.#unimplementedStream('streamContainerStats');
  readonly streamPodSandboxStats = this.#unimplementedStream('streamPodSandboxStats');
  readonly streamPodSandboxMetrics = this.#unimplementedStream('streamPodSandboxMetrics');
  readonly streamImages = this.#unimplementedStream('streamImages');

  #unimplemented<K extends MethodName>(method: K) {
    return this.unary(method, () => {
      throw unimplemented(method);
    });
  }

  #unimplementedStream<K extends MethodName>(method: K) {
    return this.stream(method, () => {
      throw unimplemented(method);
    });
  }

  #sandbox(id: string): FakeSandbox {
    const sandbox = this.#world.sandboxes.get(id);
    if (sandbox === undefined) throw notFound('sandbox', id);
    return sandbox;
  }

  #container(id: string): FakeContainer {
    const container = this.#world.containers.get(id);
    if (container === undefined) throw notFound('container', id);
    return container;
  }

  #runningContainer(id: string): FakeContainer {
    const container = this.#container(id);
    if (container.status.state !== ContainerState.CONTAINER_RUNNING) throw wrongState(container);
    return container;
  }

  #resolve(ref: ContainerRef): FakeContainer {
    if (typeof ref === 'string') return this.#container(ref);
    const name = `${ref.pod}/${ref.container}`;
    const container = [...this.#world.containers.values()].findLast((candidate) => nameOf(candidate) === name);
    if (container === undefined) throw new Error(`no container ${name}`);
    return container;
  }

  #scriptOf(container: FakeContainer): ContainerScript {
    return this.#scripts.get(nameOf(container)) ?? this.#scripts.get(containerNameOf(container)) ?? {};
  }

  /**
   * Asks the container to stop and waits until it has exited or the time is over. Asking it again does not restart the
   * wait.
   */
  async #terminate(container: FakeContainer, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { stopAfterMs = 0, stopExitCode = 143 } = this.#scriptOf(container);
    const exited = new Promise<void>((resolve) => container.onExit.add(resolve));
    if (!this.#stopping.has(container.id)) {
      this.#stopping.add(container.id);
      if (stopAfterMs === 0) this.#world.exit(container, { exitCode: stopExitCode });
      else if (stopAfterMs !== Infinity) this.#exitLater(container, stopAfterMs, stopExitCode);
    }
    await this.#within(timeoutMs, exited, signal);
  }

  #exitLater(container: FakeContainer, ms: number, exitCode: number): void {
    const cancel = this.clock.after(ms, () => {
      this.#world.exit(container, { exitCode });
    });
    container.onExit.add(cancel);
  }

  /** True if `work` finished before the time was over. */
  async #within(ms: number, work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
    const over = new AbortController();
    const expired = this.clock.sleep(ms, { signal: AbortSignal.any([signal, over.signal]) }).then(() => false);
    try {
      return await Promise.race([work.then(() => true), expired]);
    } finally {
      over.abort();
    }
  }

  #statsOf({ id, status: { metadata, labels, annotations } }: FakeContainer): DeepPartial<ContainerStats> {
    return { attributes: { id, metadata, labels, annotations }, ...this.stats.get(id) };
  }

  #subscribe(signal: AbortSignal): AsyncIterable<ContainerEventResponse> {
    return firstOfEach(on(this.#events, 'event', { close: ['end'], signal }));
  }
}

/** Yields the argument that matters from the arguments of an emitter's events, as `on` collects them. */
async function* firstOfEach<T>(events: AsyncIterable<unknown[]>): AsyncGenerator<T> {
  for await (const [event] of events) yield event as T;
}

const nameOf = (container: FakeContainer): string => `${podNameOf(container.sandbox)}/${containerNameOf(container)}`;

const notFound = (what: string, id: string): Refusal => new Refusal(codes.notFound, `${what} "${id}": not found`);

const unimplemented = (method: MethodName): Refusal => new Refusal(codes.unimplemented, `no method ${method}`);

function isSandboxWanted(
  { id, status: current }: FakeSandbox,
  { id: wantedId, state, labelSelector }: PodSandboxFilter,
): boolean {
  return (
    (wantedId === '' || wantedId === id) &&
    (state === undefined || state.state === current.state) &&
    hasLabels(current.labels, labelSelector)
  );
}

function isContainerWanted(
  { id, sandbox, status: current }: FakeContainer,
  { id: wantedId, podSandboxId, state, labelSelector }: ContainerFilter,
): boolean {
  return (
    (wantedId === '' || wantedId === id) &&
    (podSandboxId === '' || podSandboxId === sandbox.id) &&
    (state === undefined || state.state === current.state) &&
    hasLabels(current.labels, labelSelector)
  );
}

function hasLabels(labels: Record<string, string>, selector: Record<string, string>): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}
