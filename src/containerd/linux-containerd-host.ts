import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, open, rm } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import { withFileLock } from '../files/file-lock.ts';
import type { Logger } from '../logger.ts';
import { identify, isRunning, type ProcessIdentity, signalProcess } from '../process/process-identity.ts';
import { type ContainerdEnd, describeExit } from './containerd-exit.ts';
import type { ContainerdHost, LaunchedContainerd } from './containerd-host.ts';
import { launchLine, readLastLines, rotateContainerdLog, sizeOf } from './containerd-log.ts';
import { containerdArguments, findContainerdProcess, writePidFile } from './containerd-process.ts';
import { searchFolders } from '../process/find-program.ts';
import type { ManagedPaths } from './managed-paths.ts';
import { waitUntilReady } from './wait-until-ready.ts';

/** Moves a new containerd into its own scope before it has children. Never rejects. */
export type MoveProcess = (process: ProcessIdentity) => Promise<void>;

/** Starts and finds the containerd of these paths on this machine. */
export class LinuxContainerdHost implements ContainerdHost {
  private logStart = 0;

  constructor(
    private readonly paths: ManagedPaths,
    private readonly clock: Clock,
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly moveToScope: MoveProcess = () => Promise.resolve(),
  ) {}

  find(): Promise<ProcessIdentity | undefined> {
    return findContainerdProcess(this.paths.configFile, this.paths.pidFile, this.logger);
  }

  /** Starts containerd in its own session with its output in a file, so that it outlives us. */
  async launch(containerd: string, signal: AbortSignal): Promise<LaunchedContainerd | undefined> {
    // If this fails, the lines of an earlier containerd do not tell why.
    this.logStart = await sizeOf(this.paths.logFile);
    return this.unlessOneRuns(async () => {
      await this.rmTraces();
      await rotateContainerdLog(this.paths.logFile);
      this.logStart = await sizeOf(this.paths.logFile);
      const { child, ended } = await spawnDetached(containerd, this.paths, signal);
      const process = child.pid === undefined ? undefined : await identify(child.pid);
      if (process === undefined) throw new Error(describeExit(await ended));
      await this.record(process);
      await this.moveToScope(process);
      return { process, ended };
    });
  }

  isRunning(process: ProcessIdentity): Promise<boolean> {
    return isRunning(process);
  }

  signal(process: ProcessIdentity, name: NodeJS.Signals): Promise<void> {
    return signalProcess(process, name);
  }

  async untilReady(options: { signal: AbortSignal; timeoutMs: number }): Promise<void> {
    await waitUntilReady(this.paths.socket, { clock: this.clock, ...options });
    // containerd creates the socket with mode 0660. Its folder already keeps others out, so a read-only disk is no
    // reason to replace a containerd that answers.
    await chmod(this.paths.socket, 0o600).catch(() => undefined);
  }

  record(process: ProcessIdentity): Promise<void> {
    return writePidFile(this.paths.pidFile, process);
  }

  watchConnection(onLost: () => void): () => void {
    return watchConnection(this.paths.socket, onLost);
  }

  lastLines(count?: number): Promise<readonly string[]> {
    const lines = count === undefined ? {} : { lines: count };
    return readLastLines(this.paths.logFile, { fromByte: this.logStart, ...lines }).catch(() => []);
  }

  async whileNoneRuns(work: () => Promise<void>): Promise<boolean> {
    const done = await this.unlessOneRuns(async () => {
      await work();
      return true;
    });
    return done ?? false;
  }

  async removeTraces(): Promise<void> {
    await this.unlessOneRuns(() => this.rmTraces());
  }

  /** Removes the old sockets, because a new containerd cannot bind while they exist. */
  private async rmTraces(): Promise<void> {
    const { pidFile, socket } = this.paths;
    await Promise.all([pidFile, socket, `${socket}.ttrpc`].map((file) => rm(file, { force: true })));
  }

  /**
   * Runs `work` under a lock unless a containerd runs. A concurrent call, such as from `images load` during `run`,
   * waits and then finds that containerd.
   */
  private unlessOneRuns<T>(work: () => Promise<T>): Promise<T | undefined> {
    return withFileLock(this.paths.launchLock, this.clock, async () =>
      (await this.find()) === undefined ? work() : undefined,
    );
  }
}

async function spawnDetached(
  containerd: string,
  { configFile, logFile }: ManagedPaths,
  signal: AbortSignal,
): Promise<{ child: ChildProcess; ended: Promise<ContainerdEnd> }> {
  const log = await open(logFile, 'a', 0o600);
  try {
    // `stop` looks for the process only once, so none may start after that.
    signal.throwIfAborted();
    // The disk may be full.
    await log.appendFile(`${launchLine}\n`).catch(() => undefined);
    const child = spawn(containerd, containerdArguments(configFile), {
      detached: true,
      cwd: '/',
      stdio: ['ignore', log.fd, log.fd],
      env: containerdEnvironment(containerd),
    });
    child.unref();
    // Listens before the first await, because an error from exec is emitted in the next tick.
    return { child, ended: endOf(child) };
  } finally {
    await log.close();
  }
}

/**
 * Our environment, with a PATH for containerd, its shims and CNI plugins. The folder of containerd's own shim comes
 * first.
 */
function containerdEnvironment(containerd: string): NodeJS.ProcessEnv {
  const folders = searchFolders(`${dirname(containerd)}:${process.env['PATH'] ?? ''}`);
  // Unset, because systemd would mistake a notification from containerd for ours.
  return { ...process.env, PATH: folders.join(':'), NOTIFY_SOCKET: undefined };
}

/** Resolves when a child has exited or could not be started. */
function endOf(child: ChildProcess): Promise<ContainerdEnd> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      resolve({ code: code ?? undefined, signal: signal ?? undefined });
    });
    child.once('error', () => {
      resolve({ code: undefined, signal: undefined });
    });
  });
}

/**
 * Holds an idle gRPC connection open and calls `onLost` once the other side closes it: this reports the death of a
 * process that is not our child. Returns a function that cancels the watch.
 */
function watchConnection(socketPath: string, onLost: () => void): () => void {
  const socket = connect(socketPath);
  const session = connectHttp2('http://localhost', { createConnection: () => socket });
  let lost = false;
  const report = (): void => {
    if (lost) return;
    lost = true;
    session.destroy();
    onLost();
  };
  session.on('error', report);
  session.on('goaway', report);
  session.on('close', report);
  session.unref();
  socket.unref();
  return () => {
    lost = true;
    session.destroy();
  };
}
