import { spawn, type ChildProcess } from 'node:child_process';
import { chmod, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import { errorMessage, UserError } from '../errors.ts';
import { readLastLines, rotateLog, sizeOf } from './containerd-log.ts';
import { containerdArguments, identify, writePidFile, type ContainerdProcess } from './containerd-process.ts';
import { searchFolders } from './find-containerd.ts';
import type { ManagedPaths } from './managed-paths.ts';
import { waitUntilReady } from './wait-until-ready.ts';

/** containerd with hundreds of containers to look after again on a slow disk takes this long. */
const readyTimeoutMs = 60_000;

/** How a containerd ended. Code and signal are known of one that we started ourselves. */
export interface ContainerdExit {
  readonly pid: number;
  readonly code: number | undefined;
  readonly signal: string | undefined;
  /** What it said last. */
  readonly lastLines: readonly string[];
}

export interface LaunchedContainerd {
  readonly process: ContainerdProcess;
  /** Resolves when it ends. Never rejects. */
  readonly exited: Promise<ContainerdExit>;
}

/**
 * Starts containerd with the configuration in `paths`, in a session of its own and with its output in a file, so that it
 * outlives us, and resolves when its CRI answers. One that fails to start, or whose start is aborted, is gone afterwards.
 */
export async function launchContainerd(
  containerd: string,
  paths: ManagedPaths,
  options: { clock: Clock; signal: AbortSignal },
): Promise<LaunchedContainerd> {
  await removeTraces(paths);
  await rotateLog(paths.logFile);
  const logStart = await sizeOf(paths.logFile);
  const { child, ended } = await spawnDetached(containerd, paths, options.signal);
  const stillborn = new AbortController();
  void ended.then((end) => {
    stillborn.abort(new Error(describeEnd(end)));
  });
  try {
    const process = await record(child, ended, paths.pidFile);
    const signal = AbortSignal.any([options.signal, stillborn.signal]);
    await waitUntilReady(paths.socket, { clock: options.clock, signal, timeoutMs: readyTimeoutMs });
    // containerd makes it 0660.
    await chmod(paths.socket, 0o600);
    const lastLines = (): Promise<string[]> => readLastLines(paths.logFile, { fromByte: logStart }).catch(() => []);
    return { process, exited: ended.then(async (end) => ({ pid: process.pid, ...end, lastLines: await lastLines() })) };
  } catch (error) {
    child.kill('SIGKILL');
    await ended;
    await removeTraces(paths);
    options.signal.throwIfAborted();
    throw await startFailure(error, paths, logStart);
  }
}

/** Removes what a dead containerd leaves behind; a new one cannot bind its sockets while they are there. */
export async function removeTraces({ pidFile, socket }: ManagedPaths): Promise<void> {
  await Promise.all([pidFile, socket, `${socket}.ttrpc`].map((file) => rm(file, { force: true })));
}

async function spawnDetached(
  containerd: string,
  { configFile, logFile }: ManagedPaths,
  signal: AbortSignal,
): Promise<{ child: ChildProcess; ended: Promise<End> }> {
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

async function record(child: ChildProcess, ended: Promise<End>, pidFile: string): Promise<ContainerdProcess> {
  const process = child.pid === undefined ? undefined : await identify(child.pid);
  if (process === undefined) throw new Error(describeEnd(await ended));
  await writePidFile(pidFile, process);
  return process;
}

interface End {
  readonly code: number | undefined;
  readonly signal: string | undefined;
}

/** Resolves at the end of a child, or when it could not be started. */
function endOf(child: ChildProcess): Promise<End> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      resolve({ code: code ?? undefined, signal: signal ?? undefined });
    });
    child.once('error', () => {
      resolve({ code: undefined, signal: undefined });
    });
  });
}

function describeEnd({ code, signal }: End): string {
  if (code !== undefined) return `it ended with exit code ${String(code)}`;
  return signal === undefined ? 'it could not be executed' : `it was ended by ${signal}`;
}

async function startFailure(
  cause: unknown,
  { logFile, configFile }: ManagedPaths,
  logStart: number,
): Promise<UserError> {
  const lines = await readLastLines(logFile, { fromByte: logStart });
  const said = lines.map((line) => `\n  ${line}`).join('');
  return new UserError(`The managed containerd did not start: ${errorMessage(cause)}${said}`, {
    hint: `Its log is ${logFile}, its configuration ${configFile}.`,
    cause,
  });
}
