import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { RuntimeService } from '../cri/runtime-service.ts';
import { errorMessage, UserError } from '../errors.ts';
import { withFileLock } from '../files/file-lock.ts';
import { ifPresent } from '../files/if-present.ts';
import type { Logger } from '../logger.ts';
import { requireRoot } from '../process/needs-root.ts';
import type { CNIOptions } from './cni-config.ts';
import { cutLog } from './containerd-log.ts';
import { findShims } from './containerd-shims.ts';
import { ContainerdLaunch } from './containerd-launch.ts';
import { ContainerdSupervisor, type SupervisedContainerd, type SupervisionEvents } from './containerd-supervisor.ts';
import { endShim } from './end-shim.ts';
import { findContainerd, type InstalledContainerd } from './find-containerd.ts';
import type { ImportedFolder } from './import-images-folder.ts';
import type { ImportProgress } from './import-progress.ts';
import { LinuxContainerdHost, type MoveProcess } from './linux-containerd-host.ts';
import { ManagedImages, type ImagesRepair } from './managed-images.ts';
import { assertSocketsFit, managedPaths, type ManagedPaths } from './managed-paths.ts';
import { orphanShimsOf } from './orphan-shims-of.ts';
import type { OrphanShims } from './orphan-shims.ts';
import { PodNetwork } from './pod-network.ts';
import { withPauseImage } from './pause/with-pause-image.ts';
import { setAsideStore, type StoreSetAside } from './set-aside-store.ts';
import { DamagedStoreError, findStartProblem, remedyFor } from './start-problem.ts';
import { type PodsToStop, stopShims } from './stop-shims.ts';
import { waitUntilReady } from './wait-until-ready.ts';

export interface ManagedContainerdOptions extends SupervisionEvents {
  readonly rootDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** True if the engine's cgroup driver is systemd. */
  readonly systemdCgroup?: boolean;
  /** Finds the containerd to run. Defaults to the installed one. */
  readonly find?: () => Promise<InstalledContainerd>;
  /** If true, a running containerd is restarted for another program, proxy variables, certificates or drop-ins. */
  readonly restartsForChanges?: boolean;
  /** The choices of the user for our bridge network. */
  readonly network?: Pick<CNIOptions, 'podCIDR' | 'mtu'>;
  /** Moves a new containerd into its own scope, such as a systemd unit. */
  readonly moveToScope?: MoveProcess;
  /**
   * Called when a damaged store was set aside, which happens if containerd does not work with it and no container runs.
   * Without it, the store is kept and the start fails.
   */
  readonly onSetAside?: (store: StoreSetAside, damage: DamagedStoreError) => void;
}

interface StoreRepair {
  readonly pods: PodsToStop;
  /** True if an agent runs, whose supervisor starts containerd again, with the agent's settings. */
  readonly hasAgent: boolean;
  readonly signal: AbortSignal;
}

export interface RepairedStore {
  readonly store: StoreSetAside;
  /** UIDs of the pods that were stopped. */
  readonly stopped: readonly string[];
  readonly imported: ImportedFolder;
}

/** Milliseconds for the agent to start containerd again. */
const readyTimeoutMs = 60_000;

/** The containerd that `start` adopted or started. */
export interface StartedContainerd {
  readonly endpoint: string;
  readonly pid: number;
  /** True if it was already running, with the pods of an earlier run. */
  readonly adopted: boolean;
  /** Sentences that tell the user which features will not work. */
  readonly warnings: readonly string[];
}

const housekeepingPeriodMs = 3_600_000;

/** A private containerd that this program configures, starts, adopts and keeps running. */
export class ManagedContainerd {
  readonly endpoint: string;
  readonly paths: ManagedPaths;
  private readonly clock: Clock;
  private readonly logger: Logger;
  readonly network: PodNetwork;
  private readonly images: ManagedImages;
  private readonly supervisor: ContainerdSupervisor;
  private readonly orphanShims: OrphanShims;
  /** The store that has the archives of the root-dir. Undefined before the first import. */
  private importedInto: string | undefined;

  constructor(private readonly options: ManagedContainerdOptions) {
    this.clock = options.clock;
    this.logger = options.logger.child({ component: 'managed-containerd' });
    this.paths = managedPaths(options.rootDir);
    this.endpoint = this.paths.endpoint;
    this.network = new PodNetwork({
      paths: this.paths,
      choice: options.network ?? {},
      clock: this.clock,
      logger: this.logger,
    });
    const { find = findContainerd } = options;
    this.images = new ManagedImages({ paths: this.paths, clock: this.clock, find, pid: () => this.pid });
    const launch = new ContainerdLaunch({
      ...{ paths: this.paths, clock: this.clock, network: this.network, find },
      systemdCgroup: options.systemdCgroup ?? false,
      restartsForChanges: options.restartsForChanges ?? false,
    });
    this.supervisor = new ContainerdSupervisor({
      host: new LinuxContainerdHost(this.paths, this.clock, this.logger, options.moveToScope),
      clock: this.clock,
      logger: this.logger,
      prepare: () => launch.prepare(),
      changesOf: (process) => launch.changesOf(process),
      events: {
        ...options,
        onRestart: (process, warnings) => {
          void this.orphanShims.follow();
          this.network.warnAgain();
          this.network.warnOnce(warnings);
          void this.importIntoNewStore();
          options.onRestart?.(process, warnings);
        },
      },
      rootDir: options.rootDir,
      hint: `Its log is ${this.paths.logFile}, its configuration ${this.paths.configFile}.`,
      onDamagedStore: (damage) => this.setAsideUnused(damage),
    });
    this.orphanShims = orphanShimsOf(this.endpoint, {
      end: (shim) => endShim(shim, this.paths),
      clock: this.clock,
      logger: this.logger,
      signal: this.supervisor.released,
    });
  }

  /** PID of the running process. Undefined after it has exited, until it is restarted. */
  get pid(): number | undefined {
    return this.supervisor.pid;
  }

  /** Adopts the containerd of an earlier run, or starts one. Resolves when its CRI is ready and has the pause image. */
  async start(signal: AbortSignal = new AbortController().signal): Promise<StartedContainerd> {
    assertSocketsFit(this.paths);
    requireRoot(
      'Only root can run a managed containerd',
      'Run kubelet-ts as root, or name the socket of a runtime that you may use with --container-runtime-endpoint.',
    );
    const started = await this.supervisor.start(signal);
    const { process, adopted, warnings } = await this.withPauseImageIn(started, signal).catch((error: unknown) => {
      this.release();
      throw error;
    });
    void this.orphanShims.follow();
    if (!adopted) void this.restorePauseImage();
    this.keepHouse();
    const ofNetwork = await this.network.start(adopted);
    return { endpoint: this.endpoint, pid: process.pid, adopted, warnings: [...warnings, ...ofNetwork] };
  }

  /** Like `start`, for a caller that only stops pods: needs neither the pause image nor a network. */
  async startToStop(signal: AbortSignal = new AbortController().signal): Promise<void> {
    await this.supervisor.start(signal);
    void this.orphanShims.follow();
  }

  /**
   * Stops all containers without asking containerd, sets its store aside, starts it anew, and imports the archives in
   * `<root-dir>/images`.
   */
  async repairStore({ pods, hasAgent, signal }: StoreRepair): Promise<RepairedStore> {
    requireRoot('Only root can repair the store of a managed containerd', 'Run kubelet-ts as root.');
    let result: Omit<RepairedStore, 'imported'> | undefined;
    const work = async (): Promise<void> => {
      const stopped = await this.stopContainers(pods);
      result = { stopped, store: await setAsideStore(this.paths) };
    };
    const imported = await this.whileNoneRepairs(signal, async () => {
      if (hasAgent) await this.supervisor.halt(signal, work);
      else await this.supervisor.renew(signal, work);
      await waitUntilReady(this.paths.socket, { clock: this.clock, signal, timeoutMs: readyTimeoutMs });
      await this.ensurePauseImage(signal);
      return this.images.importFolder(this.bounded(signal));
    });
    if (result === undefined) throw new Error('The store was not set aside');
    return { ...result, imported };
  }

  /** Stops the containers of pods without asking containerd (`stopShims`). */
  stopContainers(pods: PodsToStop): Promise<string[]> {
    return stopShims(pods, { paths: this.paths, clock: this.clock });
  }

  private async withPauseImageIn(started: SupervisedContainerd, signal: AbortSignal): Promise<SupervisedContainerd> {
    try {
      await this.ensurePauseImage(signal);
      return started;
    } catch (error) {
      if (!(error instanceof DamagedStoreError)) throw error;
      // Running pods continue. Only new pods need the image, and they report the error.
      if (started.adopted && (await this.hasShims()))
        return { ...started, warnings: [`${error.message}. ${error.hint ?? ''}`] };
      if (!(await this.isUnused())) throw error;
      const renewed = await this.supervisor.renew(signal, () => this.setAside(error));
      await this.ensurePauseImage(signal);
      return renewed;
    }
  }

  private async ensurePauseImage(signal: AbortSignal): Promise<void> {
    try {
      await this.images.ensurePauseImage(this.bounded(signal));
    } catch (cause) {
      signal.throwIfAborted();
      const problem = findStartProblem([errorMessage(cause)]);
      if (problem === undefined) throw cause;
      const message = `The managed containerd cannot store the pause image: ${problem.line}`;
      const options = { hint: remedyFor(problem, this.options.rootDir), cause };
      throw problem.kind === 'damaged store'
        ? new DamagedStoreError(message, options)
        : new UserError(message, options);
    }
  }

  /** True if a store may be set aside: nothing runs from it, and the caller allows it. */
  private async isUnused(): Promise<boolean> {
    return this.options.onSetAside !== undefined && !(await this.hasShims());
  }

  private async hasShims(): Promise<boolean> {
    return (await findShims(this.paths.socket)).length > 0;
  }

  private async setAsideUnused(damage: DamagedStoreError): Promise<boolean> {
    if (!(await this.isUnused())) return false;
    await this.setAside(damage);
    return true;
  }

  private async setAside(damage: DamagedStoreError): Promise<void> {
    const store = await setAsideStore(this.paths);
    this.options.onSetAside?.(store, damage);
  }

  /** Imports the archives of the root-dir if the store was replaced, maybe by `repair-store`. Never rejects. */
  private async importIntoNewStore(): Promise<void> {
    const signal = this.supervisor.released;
    try {
      if (this.importedInto === undefined || this.importedInto === (await this.storeIdentity())) return;
      const { imported, failed } = await this.whileNoneRepairs(signal, () => this.importImages(signal));
      for (const { file, names } of imported) this.logger.info({ file, names }, 'Imported an image archive');
      for (const { file, error } of failed)
        this.logger.error({ file, err: error.message }, 'An image archive was not imported');
    } catch (error) {
      if (!signal.aborted) this.logger.error({ err: errorMessage(error) }, 'Importing the image archives failed');
    }
  }

  /** Wraps a runtime. If a sandbox fails because the pause image is missing, loads the image again. */
  withPauseImage(runtime: RuntimeService): RuntimeService {
    return withPauseImage(runtime, {
      ensure: () => this.images.ensurePauseImage(this.supervisor.released),
      // The image must not be pulled from a registry.
      isAskedOutside: () => this.images.usesEarlierPauseImage(),
      logger: this.logger,
    });
  }

  /** Imports the archives in `<root-dir>/images` that this containerd does not have yet. */
  async importImages(signal?: AbortSignal, onProgress?: (progress: ImportProgress) => void): Promise<ImportedFolder> {
    const store = await this.storeIdentity();
    const imported = await this.images.importFolder(this.bounded(signal), onProgress);
    this.importedInto = store;
    return imported;
  }

  /** containerd creates the folder of its database in a new store. */
  private async storeIdentity(): Promise<string> {
    const found = await ifPresent(stat(join(this.paths.root, 'io.containerd.metadata.v1.bolt')));
    return `${String(found?.ino)} ${String(found?.birthtimeMs)}`;
  }

  /** An agent and `repair-store` import the same archives into a new store, one after the other. */
  private whileNoneRepairs<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return withFileLock(this.paths.repairLock, this.clock, work, { signal });
  }

  /**
   * Imports one image archive and protects its images from garbage collection. Resolves to their names when the CRI
   * lists them.
   */
  importImageArchive(file: string, signal?: AbortSignal, input?: Readable): Promise<string[]> {
    return this.images.importArchive(file, this.bounded(signal), input);
  }

  /** Repairs these images, or all (`ManagedImages.repair`). */
  repairImages(names: readonly string[], signal: AbortSignal): Promise<ImagesRepair> {
    return this.images.repair(names, this.bounded(signal));
  }

  /** After a power cut, the pause program may be empty. Every pod needs it. Never rejects. */
  private async restorePauseImage(): Promise<void> {
    const signal = this.supervisor.released;
    try {
      const files = await this.images.restorePauseImage(signal);
      if (files.length > 0) this.logger.warn({ files }, 'The unpacked pause image was damaged and is restored');
    } catch (error) {
      if (!signal.aborted) this.logger.warn({ err: errorMessage(error) }, 'Checking the unpacked pause image failed');
    }
  }

  /** Stops supervising. containerd and all containers keep running, and the next run adopts them. */
  release(): void {
    this.supervisor.release();
  }

  /**
   * Stops containerd, for `kubelet-ts down --all`. The caller must have removed all pods, because their shims are not
   * stopped. Only shims that containerd does not list are killed: nobody could recognize them afterwards. Returns false
   * if no containerd was running.
   */
  async stop(): Promise<boolean> {
    await this.orphanShims.checkBeforeStop();
    const didRun = await this.supervisor.stop();
    await this.network.remove();
    return didRun;
  }

  private bounded(signal: AbortSignal | undefined): AbortSignal {
    const { released } = this.supervisor;
    return signal === undefined ? released : AbortSignal.any([signal, released]);
  }

  private keepHouse(): void {
    const signal = this.supervisor.released;
    const cancel = this.clock.after(housekeepingPeriodMs, () => {
      signal.removeEventListener('abort', cancel);
      void this.orphanShims.check();
      void cutLog(this.paths.logFile)
        .catch((error: unknown) => {
          this.logger.warn({ err: error }, 'Truncating the log of containerd failed');
        })
        .finally(() => {
          if (!signal.aborted) this.keepHouse();
        });
    });
    signal.addEventListener('abort', cancel, { once: true });
  }
}
