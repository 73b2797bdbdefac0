import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, open, rm } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import { exclusively } from '../exclusively.ts';
import { identify, isRunning, type ProcessIdentity, signalProcess } from '../process-identity.ts';
import { type ContainerdEnd, describeEnd } from './containerd-exit.ts';
import type { ContainerdHost, LaunchedContainerd } from './containerd-host.ts';
import { readLastLines, rotateLog, sizeOf } from './containerd-log.ts';
import { containerdArguments, findContainerdProcess, writePidFile } from './containerd-process.ts';
import { searchFolders } from './find-containerd.ts';
import type { ManagedPaths } from './managed-paths.ts';
import { waitUntilReady } from './wait-until-ready.ts';

/** The containerd of these paths on this machine. */
export class LinuxContainerdHost implements ContainerdHost {
  readonly #paths: ManagedPaths;
  readonly #clock: Clock;
  #logStart = 0;

  constructor(paths: ManagedPaths, clock: Clock) {
    this.#paths = paths;
    this.#clock = clock;
  }

  find(): Promise<ProcessIdentity | undefined> {
    return findContainerdProcess(this.#paths.configFile, this.#paths.pidFile);
  }

  /** In a session of its own and with its output in a file, so that it outlives us. */
  launch(containerd: string, signal: AbortSignal): Promise<LaunchedContainerd | undefined> {
    return this.#unlessOneRuns(async () => {
      await this.#rmTraces();
      await rotateLog(this.#paths.logFile);
      this.#logStart = await sizeOf(this.#paths.logFile);
      const { child, ended } = await spawnDetached(containerd, this.#paths, signal);
      const process = child.pid === undefined ? undefined : await identify(child.pid);
      if (process === undefined) throw new Error(describeEnd(await ended));
      await this.record(process);
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
    await waitUntilReady(this.#paths.socket, { clock: this.#clock, ...options });
    // containerd makes it 0660.
    await chmod(this.#paths.socket, 0o600);
  }

  record(process: ProcessIdentity): Promise<void> {
    return writePidFile(this.#paths.pidFile, process);
  }

  watchConnection(onLost: () => void): () => void {
    return watchConnection(this.#paths.socket, onLost);
  }

  lastLines(): Promise<readonly string[]> {
    return readLastLines(this.#paths.logFile, { fromByte: this.#logStart }).catch(() => []);
  }

  async removeTraces(): Promise<void> {
    await this.#unlessOneRuns(() => this.#rmTraces());
  }

  /** A new one cannot bind its sockets while they are there. */
  async #rmTraces(): Promise<void> {
    const { pidFile, socket } = this.#paths;
    await Promise.all([pidFile, socket, `${socket}.ttrpc`].map((file) => rm(file, { force: true })));
  }

  /** Another of us that asks at the same moment, as `images load` beside `run`, looks after we are done, and finds what we made. */
  #unlessOneRuns<T>(work: () => Promise<T>): Promise<T | undefined> {
    return exclusively(this.#paths.launchLock, this.#clock, async () =>
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
    // Who stops containerd looks for a process once: none may begin after that.
    signal.throwIfAborted();
    const child = spawn(containerd, containerdArguments(configFile), {
      detached: true,
      cwd: '/',
      stdio: ['ignore', log.fd, log.fd],
      env: containerdEnvironment(containerd),
    });
    child.unref();
    // Listens before the first await: a failure to execute is told in the next tick.
    return { child, ended: endOf(child) };
  } finally {
    await log.close();
  }
}

/** Program folders that containerd, its shims and CNI plugins look in; the folder of its own shim first. */
function containerdEnvironment(containerd: string): NodeJS.ProcessEnv {
  const folders = searchFolders(`${dirname(containerd)}:${process.env['PATH'] ?? ''}`);
  // A notification from containerd would tell systemd that we are ready.
  return { ...process.env, PATH: folders.join(':'), NOTIFY_SOCKET: undefined };
}

/** Resolves at the end of a child, or when it could not be started. */
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
 * Holds an idle gRPC connection open and calls `onLost` once when the other side ends it: how to be told of the death of
 * a process that is not our child. Returns a function that lets go without a call.
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
