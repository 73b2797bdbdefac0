/**
 * INVARIANTS:
 * - At most one containerd runs with our configuration file. `start` looks for it before it launches one, so a crash of
 *   this program at any instant leaves a containerd that the next start adopts. (Two of us on one root-dir are the
 *   caller's to prevent.)
 * - Only `stop` ends a containerd that answers. `release`, or our death, leaves it running.
 * - The end of `#process` is handled once, by `#recover`, and not at all after `release`.
 */
import { chmod, mkdir } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import { UserError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { readHasSysResource } from './capabilities.ts';
import { ensureCNIConfig, removeBridge, type CNISetup } from './cni-config.ts';
import { generateContainerdConfig } from './containerd-config.ts';
import { cutLog, readLastLines } from './containerd-log.ts';
import { findContainerdProcess, isRunning, writePidFile, type ContainerdProcess } from './containerd-process.ts';
import { findContainerd, type InstalledContainerd } from './find-containerd.ts';
import type { ImportedFolder } from './import-images-folder.ts';
import { launchContainerd, removeTraces, type ContainerdExit } from './launch-containerd.ts';
import { ManagedImages } from './managed-images.ts';
import { assertSocketsFit, managedPaths, type ManagedPaths } from './managed-paths.ts';
import { pauseImageName } from './pause/pause-image.ts';
import { nextRestartDelayMs, steadyRunMs } from './restart-delay.ts';
import { chooseSnapshotter } from './snapshotter.ts';
import { waitUntilReady } from './wait-until-ready.ts';
import { watchConnection } from './watch-connection.ts';
import { writeFileAtomic } from '../write-file-atomic.ts';

export interface ManagedContainerdOptions {
  readonly rootDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** True where the engine's cgroup driver is systemd. */
  readonly systemdCgroup?: boolean;
  /** Which containerd to run; by default the installed one. */
  readonly find?: () => Promise<InstalledContainerd>;
  /** Which CNI folders to use; by default the machine's, or a bridge network of ours. */
  readonly cni?: () => Promise<CNISetup>;
  /** containerd ended although nobody asked it to. A restart follows. */
  readonly onExit?: (exit: ContainerdExit) => void;
  /** It answers again after `onExit`. */
  readonly onRestart?: (process: ContainerdProcess) => void;
  /** It could not be started again; the next attempt comes in `retryInMs`. */
  readonly onRestartFailed?: (failure: { error: unknown; retryInMs: number }) => void;
}

/** What `start` found or made. */
export interface StartedContainerd {
  readonly endpoint: string;
  readonly pid: number;
  /** True when it was running already, with the pods of an earlier run. */
  readonly adopted: boolean;
  /** Sentences for the user about what will not work. */
  readonly warnings: readonly string[];
}

/** An adopted one is up already, or in the middle of its start. */
const adoptTimeoutMs = 20_000;
const terminateTimeoutMs = 10_000;
/** There is no way to be told of the end of a process that is not our child. */
const exitPollMs = 10;
const logCheckPeriodMs = 3_600_000;

/** A private containerd that this program configures, starts, adopts and keeps running. */
export class ManagedContainerd {
  readonly endpoint: string;
  readonly paths: ManagedPaths;
  readonly #options: ManagedContainerdOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #images: ManagedImages;
  /** Aborted when we let go of containerd, by `release` or `stop`. */
  readonly #released = new AbortController();
  #process: ContainerdProcess | undefined;
  #unwatch: () => void = () => undefined;
  #startedAt = 0;
  #failuresInARow = 0;

  constructor(options: ManagedContainerdOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#logger = options.logger.child({ component: 'managed-containerd' });
    this.paths = managedPaths(options.rootDir);
    this.endpoint = this.paths.endpoint;
    this.#images = new ManagedImages({ paths: this.paths, clock: this.#clock, find: () => this.#find() });
  }

  /** The process that runs now; undefined between its end and its restart. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Adopts the containerd of an earlier run or starts one, and resolves when its CRI is ready and has the pause image. */
  async start(signal?: AbortSignal): Promise<StartedContainerd> {
    assertSocketsFit(this.paths);
    requireRoot();
    const bounded = this.#bounded(signal);
    const adopted = await this.#adopt(bounded);
    const { process, warnings } = adopted ?? (await this.#launch(bounded));
    await this.#images.ensurePauseImage(bounded);
    this.#keepLogBounded();
    return { endpoint: this.endpoint, pid: process.pid, adopted: adopted !== undefined, warnings };
  }

  /** Imports the archives in `<root-dir>/images` that this containerd has not got yet. */
  importImages(signal?: AbortSignal): Promise<ImportedFolder> {
    return this.#images.importFolder(this.#bounded(signal));
  }

  /** Imports one image archive, keeps its images from being collected, and resolves to their names when the CRI lists them. */
  importImageArchive(file: string, signal?: AbortSignal): Promise<string[]> {
    return this.#images.importArchive(file, this.#bounded(signal));
  }

  /** Lets go: containerd and all containers keep running, for the next start to adopt. */
  release(): void {
    this.#released.abort(new Error('The managed containerd is released'));
    this.#unwatch();
  }

  /** Ends containerd, for `kubelet-ts down --all`. Pods must have been removed before: their shims are not touched. */
  async stop(): Promise<void> {
    this.release();
    const process = await findContainerdProcess(this.paths.configFile, this.paths.pidFile);
    if (process !== undefined) await this.#terminate(process);
    this.#process = undefined;
    await removeTraces(this.paths);
    await removeBridge(this.paths.cniConfDir, { logger: this.#logger });
  }

  async #adopt(signal: AbortSignal): Promise<{ process: ContainerdProcess; warnings: readonly string[] } | undefined> {
    const process = await findContainerdProcess(this.paths.configFile, this.paths.pidFile);
    if (process === undefined) return undefined;
    try {
      await waitUntilReady(this.paths.socket, { clock: this.#clock, signal, timeoutMs: adoptTimeoutMs });
    } catch (error) {
      signal.throwIfAborted();
      this.#logger.warn(
        { pid: process.pid, err: error },
        'A containerd of an earlier run does not answer and is replaced',
      );
      await this.#terminate(process);
      return undefined;
    }
    await writePidFile(this.paths.pidFile, process);
    this.#began(process);
    this.#watchAdopted(process);
    return { process, warnings: [] };
  }

  async #launch(signal: AbortSignal): Promise<{ process: ContainerdProcess; warnings: readonly string[] }> {
    // Found anew each time: a package upgrade may have put another release there since.
    const installed = await this.#find();
    const warnings = await this.#writeConfig(installed);
    const { process, exited } = await launchContainerd(installed.containerd, this.paths, {
      clock: this.#clock,
      signal,
    });
    this.#began(process);
    void exited.then((exit) => this.#recover(exit));
    return { process, warnings };
  }

  #began(process: ContainerdProcess): void {
    this.#process = process;
    this.#startedAt = this.#clock.monotonic();
  }

  async #writeConfig({ version, ociRuntime }: InstalledContainerd): Promise<readonly string[]> {
    const { base, root, state, socket, configFile, cniConfDir } = this.paths;
    await mkdir(base, { recursive: true, mode: 0o700 });
    await chmod(base, 0o700);
    const [cni, hasSysResource, snapshotter] = await Promise.all([
      this.#options.cni?.() ?? ensureCNIConfig({ confDir: cniConfDir }),
      readHasSysResource(),
      chooseSnapshotter(base),
    ]);
    const config = generateContainerdConfig({
      version,
      root,
      state,
      socket,
      cniBinDir: cni.binDir,
      cniConfDir: cni.confDir,
      pauseImage: pauseImageName,
      ociRuntime,
      restrictOOMScoreAdj: !hasSysResource,
      systemdCgroup: this.#options.systemdCgroup ?? false,
      snapshotter,
    });
    await writeFileAtomic(configFile, config);
    return cni.warnings;
  }

  #watchAdopted(process: ContainerdProcess): void {
    this.#unwatch = watchConnection(this.paths.socket, () => {
      void this.#connectionLost(process);
    });
  }

  /** The connection ends a moment before the process is gone; or containerd dropped us and lives on. */
  async #connectionLost(process: ContainerdProcess): Promise<void> {
    if (!(await this.#isGoneWithin(process, terminateTimeoutMs))) {
      if (!this.#released.signal.aborted) this.#watchAdopted(process);
      return;
    }
    const lastLines = await readLastLines(this.paths.logFile).catch(() => []);
    await this.#recover({ pid: process.pid, code: undefined, signal: undefined, lastLines });
  }

  async #recover(exit: ContainerdExit): Promise<void> {
    const { signal } = this.#released;
    if (signal.aborted) return;
    this.#process = undefined;
    this.#unwatch();
    this.#logger.warn({ ...exit }, 'containerd ended and is started again');
    this.#options.onExit?.(exit);
    if (this.#clock.monotonic() - this.#startedAt >= steadyRunMs) this.#failuresInARow = 0;
    try {
      await this.#clock.sleep(nextRestartDelayMs(this.#failuresInARow++), { signal });
      while (!(await this.#relaunch(signal))) {
        await this.#clock.sleep(nextRestartDelayMs(this.#failuresInARow++), { signal });
      }
    } catch (error) {
      if (error !== signal.reason) throw error;
    }
  }

  async #relaunch(signal: AbortSignal): Promise<boolean> {
    try {
      const { process } = await this.#launch(signal);
      this.#logger.info({ pid: process.pid }, 'containerd answers again');
      this.#options.onRestart?.(process);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const retryInMs = nextRestartDelayMs(this.#failuresInARow);
      this.#logger.error({ err: error, retryInMs }, 'containerd could not be started again');
      this.#options.onRestartFailed?.({ error, retryInMs });
      return false;
    }
  }

  async #terminate(process: ContainerdProcess): Promise<void> {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await isRunning(process)) kill(process, signal);
      if (await this.#isGoneWithin(process, terminateTimeoutMs)) return;
    }
    throw new Error(`containerd (pid ${String(process.pid)}) does not end, not even by SIGKILL`);
  }

  async #isGoneWithin(process: ContainerdProcess, timeoutMs: number): Promise<boolean> {
    const deadline = this.#clock.monotonic() + timeoutMs;
    while (await isRunning(process)) {
      if (this.#clock.monotonic() >= deadline) return false;
      await this.#clock.sleep(exitPollMs);
    }
    return true;
  }

  #find(): Promise<InstalledContainerd> {
    return (this.#options.find ?? findContainerd)();
  }

  #bounded(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#released.signal : AbortSignal.any([signal, this.#released.signal]);
  }

  #keepLogBounded(): void {
    const { signal } = this.#released;
    const cancel = this.#clock.after(logCheckPeriodMs, () => {
      signal.removeEventListener('abort', cancel);
      void cutLog(this.paths.logFile)
        .catch((error: unknown) => {
          this.#logger.warn({ err: error }, 'The log of containerd could not be cut');
        })
        .finally(() => {
          if (!signal.aborted) this.#keepLogBounded();
        });
    });
    signal.addEventListener('abort', cancel, { once: true });
  }
}

function requireRoot(): void {
  if (process.geteuid?.() === 0) return;
  throw new UserError('Only root can run a managed containerd', {
    hint: 'Run kubelet-ts as root, or name the socket of a runtime that you may use with --container-runtime-endpoint.',
  });
}

function kill({ pid }: ContainerdProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended in the meantime.
  }
}
