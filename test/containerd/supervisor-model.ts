import type { Clock } from '../../src/clock.ts';
import type { ContainerdEnd } from '../../src/containerd/containerd-exit.ts';
import type { ContainerdHost, LaunchedContainerd } from '../../src/containerd/containerd-host.ts';
import type { ProcessIdentity } from '../../src/process/process-identity.ts';
import { ContainerdSupervisor } from '../../src/containerd/containerd-supervisor.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

/** How a containerd behaves that is launched now. */
export interface Nature {
  /** From launch to its first answer; Infinity: it never answers. */
  readonly answersAfterMs: number;
  /** From SIGTERM to its end; Infinity: only SIGKILL ends it. */
  readonly stopsAfterMs: number;
}
const healthy: Nature = { answersAfterMs: 500, stopsAfterMs: 100 };

interface ModelProcess extends ProcessIdentity {
  /** Monotonic milliseconds; Infinity: never. */
  readonly answersAt: number;
  readonly nature: Nature;
  /** Undefined: not started by us. */
  readonly launchedBy: Life | undefined;
  isAlive: boolean;
  readonly end: (end: ContainerdEnd) => void;
  readonly ended: Promise<ContainerdEnd>;
}

/** What the delays between retries are said to be. */
const backOffMs = (failures: number): number => [0, 500, 1000, 2000, 4000, 8000, 16_000][failures] ?? 30_000;
const goodRunMs = 60_000;

/** A machine with one root-dir, on which lives of ours come, go and are killed, and the containerd of that root-dir. */
export class SupervisorModel {
  readonly clock = new FakeClock();
  readonly violations: string[] = [];
  #nature: Nature = healthy;
  /** Of each call to the machine in turn, again and again. */
  readonly #delaysMs: readonly number[];
  #calls = 0;
  #nextPID = 100;
  #ticks = 0;
  /** By pid: whoever has that number now. */
  readonly #processes = new Map<number, ModelProcess>();
  readonly #watches = new Set<{ process: ModelProcess; onLost: () => void }>();
  /** Lives that there ever were. */
  births = 0;
  /** True from the end of a stop to the next start. */
  stoppedLast = false;
  readonly #lives: (Life | undefined)[] = [undefined, undefined];

  constructor(delaysMs: readonly number[]) {
    this.#delaysMs = delaysMs;
  }

  get containerds(): ModelProcess[] {
    return [...this.#processes.values()].filter(({ isAlive, launchedBy }) => isAlive && launchedBy !== undefined);
  }

  /** A life that wants containerd: none, if there is one in this place. */
  start(place: number): void {
    if (this.#lives[place] !== undefined) return;
    this.births += 1;
    this.stoppedLast = false;
    this.#lives[place] = new Life(this);
  }

  abortStart(place: number): void {
    this.#lives[place]?.abort();
  }

  release(place: number): void {
    this.#lives[place]?.release();
    this.#lives[place] = undefined;
  }

  stop(place: number): void {
    this.#lives[place]?.stop();
  }

  /** It does nothing any more from this instant on. */
  kill9(place: number): void {
    this.#lives[place]?.die();
    this.#lives[place] = undefined;
  }

  killContainerd(): void {
    for (const process of this.containerds) this.#end(process, 'SIGKILL');
  }

  dropConnections(): void {
    for (const { onLost } of this.#takeWatches(() => true)) onLost();
  }

  /** The number of a containerd that ended goes to a process of somebody else. */
  reusePID(): void {
    const dead = [...this.#processes.values()].find(({ isAlive }) => !isAlive);
    if (dead !== undefined) this.#spawn(dead.pid, undefined);
  }

  /** Any containerd that is launched from now on behaves so. */
  become(nature: Nature): void {
    this.#nature = nature;
  }

  wait(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  /** Lives end and go; what started a containerd wants it no longer when it stopped. */
  forget(life: Life): void {
    const place = this.#lives.indexOf(life);
    if (place >= 0) this.#lives[place] = undefined;
  }

  /** All is well from now on, and time passes. */
  async settle(): Promise<void> {
    this.#nature = healthy;
    for (let seconds = 0; seconds < 400; seconds++) await this.clock.advance(1000);
    const wanted = this.#lives.filter((life) => life !== undefined);
    const alive = this.containerds;
    if (wanted.length > 0 && alive.length !== 1) this.violations.push(`${alive.length} run for ${wanted.length} lives`);
    for (const life of wanted) {
      if (!life.isUp) this.violations.push('a life waits for ever');
      else if (life.supervisor.pid !== alive[0]?.pid) this.violations.push('a life has another containerd');
    }
    // Those who only let go leave it running for the next.
    if (wanted.length === 0 && alive.length > 0 && this.stoppedLast) this.violations.push('one runs after the stop');
  }

  /** Lives that there are. */
  get lives(): number {
    return this.#lives.filter((life) => life !== undefined).length;
  }

  delay(clock: Clock): Promise<void> {
    const ms = this.#delaysMs[this.#calls++ % this.#delaysMs.length] ?? 0;
    return ms === 0 ? Promise.resolve() : clock.sleep(ms);
  }

  launch(life: Life): ModelProcess {
    if (this.containerds.length > 0) this.violations.push('a second containerd is started');
    return this.#spawn(this.#nextPID++, life);
  }

  signal({ pid, startTicks }: ProcessIdentity, name: NodeJS.Signals): void {
    const process = this.#processes.get(pid);
    if (process?.startTicks !== startTicks || !process.isAlive) return;
    if (process.launchedBy === undefined) this.violations.push('a process of somebody else is signalled');
    const afterMs = name === 'SIGKILL' ? 0 : process.nature.stopsAfterMs;
    if (afterMs !== Infinity) {
      this.clock.after(afterMs, () => {
        this.#end(process, name);
      });
    }
  }

  isAlive({ pid, startTicks }: ProcessIdentity): boolean {
    const process = this.#processes.get(pid);
    return process?.startTicks === startTicks && process.isAlive;
  }

  watch(onLost: () => void): () => void {
    const process = this.containerds.find(({ answersAt }) => this.clock.monotonic() >= answersAt);
    if (process === undefined) return this.clock.after(0, onLost);
    const watch = { process, onLost };
    this.#watches.add(watch);
    return () => {
      this.#watches.delete(watch);
    };
  }

  #spawn(pid: number, launchedBy: Life | undefined): ModelProcess {
    let end: (end: ContainerdEnd) => void = () => undefined;
    const ended = new Promise<ContainerdEnd>((resolve) => {
      end = resolve;
    });
    const nature = this.#nature;
    const answersAt = this.clock.monotonic() + nature.answersAfterMs;
    const startTicks = String(this.#ticks++);
    const process = { pid, startTicks, answersAt, nature, launchedBy, isAlive: true, end, ended };
    this.#processes.set(pid, process);
    return process;
  }

  #end(process: ModelProcess, signal: string): void {
    if (!process.isAlive) return;
    process.isAlive = false;
    process.end({ code: undefined, signal });
    for (const { onLost } of this.#takeWatches((watch) => watch.process === process)) onLost();
  }

  #takeWatches(isMeant: (watch: { process: ModelProcess }) => boolean): { onLost: () => void }[] {
    const taken = [...this.#watches].filter(isMeant);
    for (const watch of taken) this.#watches.delete(watch);
    return taken;
  }
}

const never = new Promise<never>(() => undefined);

/** One run of this program over the root-dir. Once it is dead nothing comes back to it, and it does nothing. */
export class Life {
  readonly supervisor: ContainerdSupervisor;
  readonly #model: SupervisorModel;
  readonly #clock: Clock;
  readonly #startAborted = new AbortController();
  #isDead = false;
  isUp = false;
  /** No launch may come before. */
  #mayLaunchAt = 0;
  #upSince = 0;
  #failures = 0;

  constructor(model: SupervisorModel) {
    this.#model = model;
    const { clock } = model;
    this.#clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      sleep: (ms, options) => this.#whileAlive(clock.sleep(ms, options)),
      after: (ms, fn) =>
        clock.after(ms, () => {
          if (!this.#isDead) fn();
        }),
    };
    this.supervisor = new ContainerdSupervisor({
      host: this.#host(),
      clock: this.#clock,
      logger: silentLogger,
      prepare: () => this.#call(() => ({ containerd: 'containerd', warnings: [] })),
      events: {
        onExit: () => {
          if (clock.monotonic() - this.#upSince >= goodRunMs) this.#failures = 0;
          this.#waitsForRestart();
        },
        onRestart: () => {
          this.#upSince = clock.monotonic();
        },
        onRestartFailed: () => {
          this.#waitsForRestart();
        },
      },
      rootDir: '/r',
      hint: '',
      onDamagedStore: () => Promise.resolve(false),
    });
    void this.#start();
  }

  abort(): void {
    this.#startAborted.abort(new Error('aborted'));
  }

  release(): void {
    this.supervisor.release();
  }

  stop(): void {
    const { births, lives } = this.#model;
    this.supervisor.stop().then(
      () => {
        if (this.#isDead) return;
        this.#model.forget(this);
        // Another life wants one, or did.
        if (lives > 1 || this.#model.births > births) return;
        this.#model.stoppedLast = true;
        if (this.#model.containerds.length > 0) this.#violation('one runs when stop is done');
      },
      (error: unknown) => {
        this.#violation(`stop failed: ${String(error)}`);
      },
    );
  }

  die(): void {
    this.#isDead = true;
  }

  async #start(): Promise<void> {
    try {
      await this.supervisor.start(this.#startAborted.signal);
      this.isUp = true;
      this.#upSince = this.#clock.monotonic();
    } catch {
      if (this.#isDead) return;
      this.#model.forget(this);
      const left = this.#model.containerds.filter(({ launchedBy }) => launchedBy === this);
      if (left.length > 0) this.#violation('a start that failed leaves its containerd');
    }
  }

  #waitsForRestart(): void {
    this.#mayLaunchAt = this.#clock.monotonic() + backOffMs(this.#failures++);
  }

  #host(): ContainerdHost {
    const model = this.#model;
    return {
      find: () => this.#call(() => model.containerds[0]),
      launch: (_containerd, signal) =>
        this.#call(() => {
          if (model.containerds.length > 0) return undefined;
          signal.throwIfAborted();
          if (model.clock.monotonic() < this.#mayLaunchAt) this.#violation('a restart comes too early');
          const { pid, startTicks, ended } = model.launch(this);
          return { process: { pid, startTicks }, ended: this.#whileAlive(ended) } satisfies LaunchedContainerd;
        }),
      isRunning: (process) => this.#call(() => model.isAlive(process)),
      signal: (process, name) =>
        this.#call(() => {
          model.signal(process, name);
        }),
      untilReady: ({ signal, timeoutMs }) => this.#untilReady(signal, timeoutMs),
      record: () => this.#call(() => undefined),
      watchConnection: (onLost) =>
        model.watch(() => {
          if (!this.#isDead) onLost();
        }),
      lastLines: () => this.#call(() => []),
      removeTraces: () => this.#call(() => undefined),
      whileNoneRuns: () => this.#call(() => false),
    };
  }

  async #untilReady(signal: AbortSignal, timeoutMs: number): Promise<void> {
    const { clock } = this.#model;
    const giveUpAt = clock.monotonic() + timeoutMs;
    for (;;) {
      signal.throwIfAborted();
      if (this.#model.containerds.some(({ answersAt }) => clock.monotonic() >= answersAt)) return;
      if (clock.monotonic() >= giveUpAt) throw new Error('no answer');
      await this.#clock.sleep(100, { signal });
    }
  }

  /**
   * What is done to the machine is done at one instant, between two delays. A life that dies before does not come so
   * far.
   */
  async #call<T>(act: () => T): Promise<T> {
    await this.#model.delay(this.#clock);
    if (this.#isDead) return never;
    const result = act();
    await this.#model.delay(this.#clock);
    return this.#whileAlive(Promise.resolve(result));
  }

  async #whileAlive<T>(promise: Promise<T>): Promise<T> {
    try {
      const value = await promise;
      return this.#isDead ? await never : value;
    } catch (error) {
      if (this.#isDead) return never;
      throw error;
    }
  }

  #violation(text: string): void {
    this.#model.violations.push(text);
  }
}
