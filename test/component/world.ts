import { type ObserveCall, observedService } from '../../src/cri/observed-service.ts';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { type Channel, openChannel } from '../../src/cri/grpc-channel.ts';
import { grpcImageService } from '../../src/cri/grpc-image-service.ts';
import { grpcRuntimeService } from '../../src/cri/grpc-runtime-service.ts';
import type { RuntimeService } from '../../src/cri/runtime-service.ts';
import { CgroupfsManager } from '../../src/engine/container-manager/cgroupfs-manager.ts';
import type { RootOwner } from '../../src/engine/container/root-owner.ts';
import { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import type { KubeletDeps } from '../../src/engine/build/kubelet-deps.ts';
import { Kubelet } from '../../src/engine/kubelet.ts';
import { type ForeignPods, OwnedRuntime } from '../../src/engine/kuberuntime/owned-runtime.ts';
import { SecretValues } from '../../src/engine/redaction/secret-values.ts';
import { criEventStream } from '../../src/engine/pleg/runtime-event-stream.ts';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { Faults } from '../../src/flow/faults.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { directChannel } from '../fakes/direct-channel.ts';
import { EventRecorder } from '../fakes/event-recorder.ts';
import { FakeCgroups } from '../fakes/fake-cgroups.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCriServer } from '../fakes/fake-cri-server.ts';
import { FakeRuntime } from '../fakes/fake-runtime.ts';
import { FakeStats } from '../fakes/fake-stats.ts';
import { noForeignPods } from '../fakes/no-foreign-pods.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { tickingClock } from '../fakes/ticking-clock.ts';
import { isFileAtWork } from '../support/file-operations.ts';
import { socketActivity } from '../support/socket-activity.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Mortal } from './mortal.ts';
import { wrapMethods } from './wrap-methods.ts';

/** Milliseconds. Time moves to the next timer, but by at most this much. */
const maxStepMs = 100;
/** Milliseconds. No test needs to wait this long: one that does waits in vain. */
const patienceMs = 600_000;

interface WorldOptions {
  /**
   * If true, uses gRPC over a real socket, for tests of the connection. Otherwise the engine calls the runtime
   * directly.
   */
  wire?: boolean;
  /** Folder for all files of the machine. Defaults to one that is removed when the test ends. */
  folder?: string;
}

/** The world is quiet after this many turns of the event loop without activity. */
const quietTurns = 4;

/**
 * A machine: a runtime, a root-dir, and the engines that run on them one after another. Time passes only in `until` and
 * `pass`, and there only while no file operation is pending and the runtime holds every pending call, which then waits
 * for time or for the test.
 */
export class World {
  readonly clock = new FakeClock();
  readonly runtime = new FakeRuntime({ clock: this.clock });
  readonly stats = new FakeStats(this.clock);
  readonly server = new FakeCriServer(this.runtime);
  readonly folder: string;
  /** Where the disk is mounted, if it is read-only. */
  readOnlyDisk: string | undefined;
  readonly cgroups: FakeCgroups;
  readonly #hasWire: boolean;
  readonly #engines: Engine[] = [];
  /** Number of the engines' calls to the runtime that are in flight. */
  #callsUnderWay = 0;
  #signsOfLife = 0;

  private constructor(folder: string, cgroups: FakeCgroups, hasWire: boolean) {
    this.folder = folder;
    this.cgroups = cgroups;
    this.#hasWire = hasWire;
  }

  /** Opens a world that closes when the test ends. */
  static async make(options?: WorldOptions): Promise<World> {
    const world = await World.open(options);
    onTestFinished(() => world.end());
    return world;
  }

  /** Opens a world that the caller closes with `end`. */
  static async open({ wire = false, folder: given }: WorldOptions = {}): Promise<World> {
    const folder = given ?? (await temporaryFolder());
    const world = new World(folder, await FakeCgroups.make(2, undefined, join(folder, 'cgroups')), wire);
    if (wire) await world.server.start({ socketPath: world.socketPath });
    return world;
  }

  /** Stops the running engines, then the runtime. */
  async end(): Promise<void> {
    for (const engine of this.#engines) await engine.kill();
    this.server.stop();
  }

  get socketPath(): string {
    return join(this.folder, 'cri.sock');
  }

  get rootDir(): string {
    return join(this.folder, 'root');
  }

  /** Starts an engine. It stops when the world closes, at the latest. */
  async boot({
    isEvented = false,
    owner,
    onCall = () => undefined,
    ...deps
  }: Pick<KubeletDeps, 'sources'> &
    Partial<KubeletDeps> & { isEvented?: boolean; owner?: RootOwner; onCall?: ObserveCall }): Promise<Engine> {
    const channel = this.#hasWire ? openChannel(this.socketPath) : directChannel(this.runtime);
    const life = new Mortal();
    const shared = life.service(
      this.#counting(observedService(grpcRuntimeService(channel), onCall, () => this.clock.monotonic())),
    );
    const clock = life.clock(tickingClock(this.clock));
    const ended = new AbortController();
    const { runtime, foreignPods } = owner
      ? this.#owned(owner, shared, clock, ended.signal)
      : { runtime: shared, foreignPods: noForeignPods(shared) };
    const kubelet = new Kubelet({
      runtime,
      foreignPods,
      imageService: life.service(this.#counting(grpcImageService(channel))),
      eventStreams: isEvented ? [criEventStream(shared)] : [],
      node: makeNodeConfig(this.folder, owner && { rootDir: owner.rootDir }),
      cgroups: new CgroupfsManager({
        mounts: this.cgroups.mounts,
        files: this.cgroups,
        clock: this.clock,
        driver: 'cgroupfs',
      }),
      unifiedCgroups: undefined,
      openKernelLog: () => {
        throw new Error('this machine does not show the log of the kernel');
      },
      logind: undefined,
      statsHost: { cgroups: {}, procFolder: join(this.folder, 'proc'), runtimePID: () => undefined },
      endpoint: { endpoint: this.socketPath, because: 'it is there' },
      leaveOrphans: false,
      prunes: false,
      nodeCredentials: () => Promise.resolve([]),
      secrets: new SecretValues(),
      keptImages: [],
      newStats: () => this.stats,
      deviceOf: () => Promise.resolve(1n),
      readFilesystem: () => Promise.resolve(this.stats.disk),
      findReadOnlyDisk: () => Promise.resolve(this.readOnlyDisk),
      readTerminationMessage: ({ message }) => Promise.resolve(message),
      checkHealth: () => Promise.resolve(undefined),
      clock,
      faults: new Faults({ clock, logger: silentLogger }),
      random: () => 0,
      logger: silentLogger,
      ...deps,
    });
    const engine = new Engine(this, kubelet, channel, () => {
      life.end();
      ended.abort();
    });
    this.#engines.push(engine);
    await this.runtime.waitForCall('version');
    return engine;
  }

  #owned(
    owner: RootOwner,
    runtime: RuntimeService,
    clock: Clock,
    signal: AbortSignal,
  ): { runtime: RuntimeService; foreignPods: ForeignPods } {
    const podDirs = new PodDirs(owner);
    const owned = new OwnedRuntime({ runtime, owner, podUIDs: () => podDirs.podUIDs(), clock, signal });
    return { runtime: owned.runtime, foreignPods: owned };
  }

  /** Lets time pass until `isSo` returns true. Rejects after `patienceMs`. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = this.clock.monotonic() + patienceMs;
    for (;;) {
      await this.#settle();
      if (await isSo()) return;
      if (this.clock.monotonic() > deadline)
        throw new Error(
          `It is not so after ${patienceMs} ms, ${this.#callsUnderWay} calls are under way: ${isSo.toString()}`,
        );
      await this.clock.advance(Math.min(maxStepMs, Math.ceil(this.clock.untilNextTimerMs)));
    }
  }

  async pass(ms: number): Promise<void> {
    const end = this.clock.monotonic() + ms;
    await this.until(() => this.clock.monotonic() >= end);
  }

  /** Lets this much time pass in one step, as on a machine that was suspended, and waits for the work that is due. */
  async leap(ms: number): Promise<void> {
    await this.#settle();
    await this.clock.leap(ms);
    await this.#settle();
  }

  /** Returns the runtime's containers as `pod/container#attempt state`, and its sandboxes as `pod#attempt state`. */
  async inventory(): Promise<string[]> {
    const [{ items }, { containers }] = await Promise.all([
      this.runtime.listPodSandbox(),
      this.runtime.listContainers(),
    ]);
    const podOf = (id: string): string => items.find((sandbox) => sandbox.id === id)?.metadata?.name ?? '';
    return [
      ...items.map(({ metadata, state }) => `${metadata?.name ?? ''}#${metadata?.attempt ?? 0} ${state}`),
      ...containers.map(
        ({ podSandboxId, metadata, state }) =>
          `${podOf(podSandboxId)}/${metadata?.name ?? ''}#${metadata?.attempt ?? 0} ${state}`,
      ),
    ].sort();
  }

  /** Waits until all pending work waits for time or for the test. */
  async #settle(): Promise<void> {
    let seen = -1;
    for (let turns = 0; turns < quietTurns; turns++) {
      await nextTurn();
      const signs = this.#signsOfLife + socketActivity();
      if (seen === signs && !isFileAtWork() && this.#callsUnderWay === this.runtime.callsUnderWay) continue;
      seen = signs;
      turns = 0;
    }
  }

  #note(change: 1 | -1): void {
    this.#callsUnderWay += change;
    this.#signsOfLife += 1;
  }

  #counting<S extends object>(service: S): S {
    return wrapMethods(service, (answer) => {
      if (!(answer instanceof Promise)) return answer;
      this.#note(1);
      return answer.finally(() => {
        this.#note(-1);
      });
    });
  }
}

/** An engine that runs in a `World`. */
export class Engine {
  readonly kubelet: Kubelet;
  readonly events: EventRecorder;
  readonly #world: World;
  readonly #channel: Channel;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  readonly #die: () => void;
  #hasEnded = false;

  /** `die` cuts the engine off from the runtime and the clock. */
  constructor(world: World, kubelet: Kubelet, channel: Channel, die: () => void) {
    this.kubelet = kubelet;
    this.#world = world;
    this.#channel = channel;
    this.#die = die;
    this.events = new EventRecorder(world.clock);
    kubelet.subscribe(this.events.record);
    this.#ended = kubelet.run(this.#stopping.signal).finally(() => {
      this.#hasEnded = true;
    });
    // `kill` reports the error.
    this.#ended.catch(() => undefined);
  }

  /** Ends the engine like SIGKILL: cuts off its calls and continues nothing. */
  crash(): void {
    this.#hasEnded = true;
    this.#die();
    this.#channel.close();
  }

  /** Ends the engine like SIGTERM. Its pods keep running. */
  async kill(): Promise<void> {
    if (this.#hasEnded) return;
    this.#stopping.abort(new Error('the test is over'));
    await this.#world.until(() => this.#hasEnded);
    await this.#ended;
    this.#channel.close();
  }

  pod(name: string): PodSnapshot | undefined {
    return this.kubelet.snapshot().pods.find(({ pod }) => pod.metadata.name === name);
  }

  phase(name: string): string | undefined {
    return this.pod(name)?.pod.status?.phase;
  }

  isReady(name: string): boolean {
    return (
      this.pod(name)?.pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
    );
  }

  /** Returns the reason why a container is waiting, or undefined if it is not. */
  waitingReason(name: string, container = 'main'): string | undefined {
    const statuses = this.pod(name)?.pod.status?.containerStatuses ?? [];
    return statuses.find((status) => status.name === container)?.state?.waiting?.reason;
  }

  messages(reason: string): string[] {
    return this.events.events.flatMap((event) =>
      event.type === 'Recorded' && event.reason === reason ? [event.message] : [],
    );
  }
}
