import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { link, mkdir, mkdtemp, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { execa } from 'execa';
import { expect } from 'vitest';
import { findContainerdProcess } from '../../src/containerd/containerd-process.ts';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import type { RuntimeConnection } from '../../src/node/runtime-connection.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { openChannel } from '../../src/cri/grpc-channel.ts';
import { grpcImageService } from '../../src/cri/grpc-image-service.ts';
import { grpcRuntimeService } from '../../src/cri/grpc-runtime-service.ts';
import { containerdEventStream } from '../../src/containerd/containerd-event-stream.ts';
import type { RuntimeEventStream } from '../../src/engine/pleg/runtime-event-stream.ts';
import type { EngineSnapshot, PodSnapshot } from '../../src/engine/view/snapshot.ts';
import type { ContainerdRelease } from './containerd-releases.ts';
import { deadlineMs } from './deadline.ts';
import { EngineWatch } from './engine-watch.ts';
import { cgroupFolders, findLeftovers, mountsBelow, nothingLeft, processesInCgroups } from './leftovers.ts';
import { type ImageArchive, imagesFolder, program } from './program.ts';
import { kill, processesOf } from './processes.ts';

export const nodeName = 'edge1';

export interface AgentOptions {
  /** Manifests by file name, written before the agent starts. */
  manifests?: Readonly<Record<string, unknown>>;
  /** Additional flags of `run` and `run-once`. */
  flags?: readonly string[];
  /** Defaults to the installed one. */
  containerd?: ContainerdRelease;
  images?: readonly ImageArchive[];
  /** Folder that contains the root-dir, by default /tmp. Its path must be short. */
  folder?: string;
  /** Runs the agent and its commands in this network namespace: a path below /run/netns. */
  networkNamespace?: string;
  /** The same for a mount namespace: a path below /proc. */
  mountNamespace?: string;
  /** The same for a cgroup namespace: a path below /proc. */
  cgroupNamespace?: string;
  /** Defaults to the built one, which needs Node. */
  program?: string;
  /** Maximum number of descriptors for the agent and each command. Defaults to the limit of the tests. */
  maxOpenFiles?: number;
  /** Environment variables for the agent, added to or replacing those of the tests. */
  environment?: Readonly<Record<string, string>>;
  /** Runs the agent in its own session, as a service manager would. */
  isService?: boolean;
}

/** One entry of the agent's log. */
export interface LogEntry {
  readonly level: number;
  readonly msg: string;
  readonly [fact: string]: unknown;
}

/** The result of a command. */
export interface CommandResult {
  code: number | undefined;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  /** All of stdin. By default, stdin is empty. */
  input?: string | Uint8Array;
  /** Leaves stdin open so that the test can write to it. */
  stdin?: 'pipe';
  /** Runs the command in its own session, as a login does. */
  detached?: boolean;
  /** Leaves the output to the test. */
  buffer?: false;
  /** Additional environment variables. */
  environment?: Readonly<Record<string, string>>;
}

/**
 * Keeps the output to the last byte, including a final newline. A command that gets a signal has as long as it needs.
 */
const outputOptions = { reject: false, stripFinalNewline: false, forceKillAfterDelay: false } as const;

/** Starts an agent with its own root-dir, containerd, logs and cgroups. Every test that starts one must clean it up. */
export async function startAgent(options: AgentOptions = {}): Promise<Agent> {
  const agent = await Agent.create(options);
  try {
    await agent.start();
  } catch (error) {
    await agent.cleanUp();
    throw error;
  }
  return agent;
}

/** The level of warnings in pino's lines. */
const warnLevel = 40;

/** What `down` prints after it has waited for some seconds. */
const waitsForStops = /^waiting for .+ to stop, at most for the terminationGracePeriodSeconds of each pod\n/gm;
/** What a containerd that is started again may log. */
const endedShims = /^\[[^\]]+\] WARN: Stopped a shim that containerd did not list .*\n/gm;

export class Agent {
  readonly rootDir: string;
  readonly manifestsFolder: string;
  readonly podLogsDir: string;
  readonly cgroupRoot: string;
  readonly #options: AgentOptions;
  readonly #logs: LogEntry[] = [];
  readonly #changes = new EventEmitter();
  /** What the agent wrote to stderr that is not a log entry. */
  #otherOutput = '';
  #child: ChildProcessByStdio<null, null, Readable> | undefined;
  #exited: Promise<{ code: number | null; signal: string | null }> | undefined;
  #watch: EngineWatch | undefined;

  private constructor(rootDir: string, options: AgentOptions) {
    this.rootDir = rootDir;
    this.manifestsFolder = join(rootDir, 'manifests');
    this.podLogsDir = join(rootDir, 'logs');
    this.cgroupRoot = `/${basename(rootDir)}`;
    this.#options = options;
  }

  /** Creates everything that an agent needs, but does not start it. */
  static async create(options: AgentOptions = {}): Promise<Agent> {
    // Socket paths must be short.
    const agent = new Agent(await mkdtemp(join(options.folder ?? '/tmp', 'kts-')), options);
    await mkdir(agent.manifestsFolder);
    await mkdir(join(agent.rootDir, 'images'));
    for (const archive of options.images ?? ['busybox.tar']) {
      await link(join(imagesFolder, archive), join(agent.rootDir, 'images', archive)).catch(() =>
        execa('cp', [join(imagesFolder, archive), join(agent.rootDir, 'images')]),
      );
    }
    // As if an agent had run before, so that it does not use the machine's own runtime.
    await mkdir(join(agent.rootDir, 'containerd'), { mode: 0o700 });
    await writeFile(join(agent.rootDir, 'containerd/config.toml'), '');
    for (const [name, manifest] of Object.entries(options.manifests ?? {})) await agent.write(name, manifest);
    return agent;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('the agent does not run');
    return pid;
  }

  /** Starts the agent. Resolves when it answers on its socket. */
  start(): Promise<void> {
    return this.startBy(
      this.commandLine(['run', this.manifestsFolder, ...['--no-tui', '--log-format', 'json', '--log-level', 'debug']]),
    );
  }

  /** The same with another command line, which must contain the root-dir and `--log-format json`. */
  async startBy([command = '', ...arguments_]: readonly string[]): Promise<void> {
    const child = spawn(command, arguments_, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: this.environment,
      detached: this.#options.isService ?? false,
    });
    this.#child = child;
    this.#exited = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => ({
      code: typeof code === 'number' ? code : null,
      signal: typeof signal === 'string' ? signal : null,
    }));
    const since = this.#logs.length;
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.#readLine(line);
    });
    void this.#exited.then(() => this.#changes.emit('change'));
    await this.waitForLog(({ msg }) => msg === 'Container runtime is ready', since);
    this.#watch = await EngineWatch.open(this.rootDir, () => this.#troubles());
  }

  /** Resolves to the first log entry that matches, from all runs of this agent or after its first `since` entries. */
  async waitForLog(fits: (entry: LogEntry) => boolean, since = 0): Promise<LogEntry> {
    const deadline = AbortSignal.timeout(deadlineMs);
    for (;;) {
      const found = this.#logs.slice(since).find(fits);
      if (found !== undefined) return found;
      const hasEnded = this.#child?.exitCode !== null || this.#child.signalCode !== null;
      if (hasEnded) throw new Error(`the agent ended before it logged ${fits.toString()}\n${this.logText()}`);
      await once(this.#changes, 'change', { signal: deadline }).catch(() => {
        throw new Error(`the agent never logged ${fits.toString()}\n${this.logText()}`);
      });
    }
  }

  get logs(): readonly LogEntry[] {
    return this.#logs;
  }

  logText(): string {
    return [...this.#logs.map((entry) => JSON.stringify(entry)), this.#otherOutput].join('\n');
  }

  /** Resolves to the first snapshot of the engine for which `isSo` is true. */
  until(isSo: (snapshot: EngineSnapshot) => boolean): Promise<EngineSnapshot> {
    return this.#running.until(isSo);
  }

  /** Resolves to the pod with this name (without the node's) as soon as `isSo` is true for it. */
  async untilPod(name: string, isSo: (pod: PodSnapshot) => boolean): Promise<PodSnapshot> {
    const find = ({ pods }: EngineSnapshot): PodSnapshot | undefined =>
      pods.find((candidate) => candidate.pod.metadata.name === `${name}-${nodeName}` && isSo(candidate));
    const found = find(
      await this.#running.until((snapshot) => find(snapshot) !== undefined, `${name}: ${isSo.toString()}`),
    );
    if (found === undefined) throw new Error(`no pod ${name}`);
    return found;
  }

  /** Resolves to the pod with this name when all its containers are running and ready. */
  untilReady(name: string): Promise<PodSnapshot> {
    return this.untilPod(name, isReady);
  }

  untilNoPods(): Promise<EngineSnapshot> {
    return this.#running.until(({ pods }) => pods.length === 0);
  }

  /** Writes a manifest as editors do: the file appears at once and is complete. */
  async write(fileName: string, manifest: unknown): Promise<void> {
    const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest);
    // Several may be written at the same time.
    const temporary = join(this.rootDir, `manifest-${randomUUID()}.tmp`);
    await writeFile(temporary, text);
    await rename(temporary, join(this.manifestsFolder, fileName));
  }

  async remove(fileName: string): Promise<void> {
    await rm(join(this.manifestsFolder, fileName));
  }

  /** Removes every manifest. Resolves when all pods have been removed. */
  async removeAll(): Promise<void> {
    for (const fileName of await readdir(this.manifestsFolder)) await this.remove(fileName);
    await this.untilNoPods();
  }

  /** Returns the command line that runs a command of the program on this agent's node. */
  commandLine(words: readonly string[]): string[] {
    const { networkNamespace, mountNamespace, cgroupNamespace, maxOpenFiles } = this.#options;
    const namespaces = [
      ...(networkNamespace === undefined ? [] : [`--net=${networkNamespace}`]),
      ...(mountNamespace === undefined ? [] : [`--mount=${mountNamespace}`]),
      ...(cgroupNamespace === undefined ? [] : [`--cgroup=${cgroupNamespace}`]),
    ];
    return [
      ...(namespaces.length === 0 ? [] : ['nsenter', ...namespaces]),
      ...(maxOpenFiles === undefined ? [] : ['prlimit', `--nofile=${maxOpenFiles}`]),
      ...this.ownCommandLine(words),
    ];
  }

  /** The same without the programs that enter the agent's namespaces and set its limit of open files. */
  ownCommandLine(words: readonly string[]): string[] {
    const [command = '', ...rest] = words;
    const subcommand = ['images', 'rollout'].includes(command) ? rest.splice(0, 1) : [];
    const node = ['--pod-logs-dir', this.podLogsDir, '--cgroup-root', this.cgroupRoot];
    const isNode = command === 'run' || command === 'run-once';
    return [
      ...[this.#options.program ?? program, command, ...subcommand, '--root-dir', this.rootDir],
      ...(isNode || command === 'down' ? node : []),
      ...(isNode ? ['--hostname-override', nodeName, '--healthz-port', '0', ...(this.#options.flags ?? [])] : []),
      ...rest,
    ];
  }

  get environment(): NodeJS.ProcessEnv {
    const folder = this.#options.containerd?.folder;
    const path = process.env['PATH'] ?? '';
    return { ...process.env, PATH: folder === undefined ? path : `${folder}:${path}`, ...this.#options.environment };
  }

  /** Starts a command of the program, for tests that interact with it while it runs. */
  spawn(words: readonly string[], { environment, ...options }: CommandOptions = {}) {
    const [command = '', ...arguments_] = this.commandLine(words);
    return execa(command, arguments_, { ...outputOptions, env: { ...this.environment, ...environment }, ...options });
  }

  /** Runs a command of the program and waits until it has exited. */
  async cli(words: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    const { exitCode, stdout, stderr } = await this.spawn(words, options);
    return { code: exitCode, stdout, stderr };
  }

  /** Like `cli`, for binary output. */
  async cliBytes(
    words: readonly string[],
    options: CommandOptions = {},
  ): Promise<{ code: number | undefined; stdout: Buffer; stderr: string }> {
    const [command = '', ...arguments_] = this.commandLine(words);
    const bytes = { ...outputOptions, encoding: 'buffer', env: this.environment, ...options } as const;
    const { exitCode, stdout, stderr } = await execa(command, arguments_, bytes);
    return { code: exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr).toString('utf8') };
  }

  /** Connects to the container runtime, which also has the pods of other agents. The caller closes the connection. */
  connect(): Promise<RuntimeConnection & { events: RuntimeEventStream }> {
    const channel = openChannel(managedPaths(this.rootDir).endpoint);
    const runtime = grpcRuntimeService(channel);
    return Promise.resolve({
      runtime,
      listAllContainers: runtime.listContainers,
      images: grpcImageService(channel),
      events: containerdEventStream(channel),
      close: () => {
        channel.close();
      },
    });
  }

  /** Returns the process id of a running container of a pod, and the container's id. */
  async runningContainer(name: string, containerName?: string): Promise<{ id: string; pid: number }> {
    const connection = await this.connect();
    try {
      const { containers } = await connection.runtime.listContainers({
        filter: { state: { state: 'CONTAINER_RUNNING' } },
      });
      const container = containers.find(
        ({ labels }) =>
          labels['io.kubernetes.pod.name'] === `${name}-${nodeName}` &&
          (containerName === undefined || labels['io.kubernetes.container.name'] === containerName),
      );
      if (container === undefined) throw new Error(`no container of pod ${name} runs`);
      const { info } = await connection.runtime.containerStatus({ containerId: container.id, verbose: true });
      return { id: container.id, pid: pidOf(info) };
    } finally {
      connection.close();
    }
  }

  /** Returns the process id of the managed containerd. */
  async containerdPid(): Promise<number> {
    const { configFile, pidFile } = managedPaths(this.rootDir);
    const found = await findContainerdProcess(configFile, pidFile, silentLogger);
    if (found === undefined) throw new Error('no containerd runs');
    return found.pid;
  }

  /** Returns the process id of the sandbox that holds a pod's namespaces. */
  async sandboxPid(name: string): Promise<number> {
    const connection = await this.connect();
    try {
      const filter = { labelSelector: { 'io.kubernetes.pod.name': `${name}-${nodeName}` } };
      const { items } = await connection.runtime.listPodSandbox({ filter });
      const [newest] = items.sort((a, b) => Number(b.createdAt - a.createdAt));
      if (newest === undefined) throw new Error(`pod ${name} has no sandbox`);
      const { info } = await connection.runtime.podSandboxStatus({ podSandboxId: newest.id, verbose: true });
      return pidOf(info);
    } finally {
      connection.close();
    }
  }

  /** Returns what exists of a pod in the runtime and on disk. */
  async findPod(uid: string): Promise<{ containers: string[]; sandboxes: string[]; folders: string[] }> {
    const connection = await this.connect();
    try {
      const filter = { labelSelector: { 'io.kubernetes.pod.uid': uid } };
      const { containers } = await connection.runtime.listContainers({ filter });
      const { items } = await connection.runtime.listPodSandbox({ filter });
      const folders = [...(await readdir(join(this.rootDir, 'pods'))), ...(await readdir(this.podLogsDir))];
      return {
        containers: containers.map(({ id }) => id),
        sandboxes: items.map(({ id }) => id),
        folders: folders.filter((folder) => folder.endsWith(uid)),
      };
    } finally {
      connection.close();
    }
  }

  /** Stops the agent as `systemctl stop` does. Resolves to how it exited. */
  async stop(): Promise<{ code: number | null; signal: string | null }> {
    return this.#end('SIGTERM');
  }

  /** Kills the agent, like a crash. */
  async kill9(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Resolves to how the agent exited once something has stopped it. */
  async exit(): Promise<{ code: number | null; signal: string | null }> {
    if (this.#exited === undefined) throw new Error('the agent does not run');
    const exit = await this.#exited;
    this.#watch?.close();
    this.#watch = undefined;
    return exit;
  }

  /**
   * Kills the agent, its runtime and its containers, and removes mounts and cgroups at once, as a power failure does.
   */
  async powerOff(): Promise<void> {
    await this.kill9();
    await this.#endEverything();
  }

  /**
   * Runs `down`. Removes two kinds of lines from its stderr: those about a wait of some seconds, which only a slow
   * machine prints, and those about shims that a killed containerd left behind.
   */
  async down(...flags: string[]): Promise<CommandResult> {
    const { stderr, ...rest } = await this.cli(['down', ...flags]);
    return { ...rest, stderr: stderr.replaceAll(waitsForStops, '').replaceAll(endedShims, '') };
  }

  /**
   * Takes everything down, checks that nothing is left, and removes the folders. Kills what a failed test left behind.
   */
  async cleanUp(): Promise<void> {
    try {
      const down = await this.down('--all');
      this.#watch?.close();
      const leftovers = await findLeftovers(this);
      expect({ down: { code: down.code, stderr: down.stderr }, leftovers }).toEqual({
        down: { code: 0, stderr: '' },
        leftovers: nothingLeft,
      });
    } finally {
      await this.#endEverything();
      await rm(this.rootDir, { recursive: true, force: true });
    }
  }

  /** Stops everything in its tracks, so that nothing is written from now on. `powerOff` follows. */
  async freeze(): Promise<void> {
    const pids = (await processesOf(this.rootDir)).map(({ pid }) => pid);
    for (const pid of [...pids, ...(await processesInCgroups(this.cgroupRoot))]) kill(pid, 'SIGSTOP');
  }

  /** Kills what a failed test left behind, of an agent that cannot clean up. */
  static endEverything(agent: Agent): Promise<void> {
    return agent.#endEverything();
  }

  async #endEverything(): Promise<void> {
    const left = (await processesOf(this.rootDir)).map(({ pid }) => pid);
    for (const pid of [...left, ...(await processesInCgroups(this.cgroupRoot))]) kill(pid);
    for (const mount of await mountsBelow(this.rootDir)) await execa('umount', ['-l', mount], { reject: false });
    for (const folder of (await cgroupFolders(this.cgroupRoot)).reverse()) await rmdir(folder).catch(() => undefined);
  }

  /** Returns warnings and errors, what Node itself printed, and how the process exited. */
  #troubles(): string[] {
    const warnings = this.#logs.filter(({ level }) => level >= warnLevel).map((entry) => JSON.stringify(entry));
    const { exitCode = null, signalCode = null } = this.#child ?? {};
    const end = exitCode ?? signalCode;
    return [...warnings, this.#otherOutput, ...(end === null ? [] : [`the process ended with ${end}`])];
  }

  get #running(): EngineWatch {
    if (this.#watch === undefined) throw new Error('the agent does not run');
    return this.#watch;
  }

  async #end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: string | null }> {
    this.#child?.kill(signal);
    return this.exit();
  }

  #readLine(line: string): void {
    try {
      this.#logs.push(JSON.parse(line) as LogEntry);
    } catch {
      // Not every line is an entry: Node reports a crash as plain text.
      this.#otherOutput += `${line}\n`;
    }
    this.#changes.emit('change');
  }
}

export function isReady({ pod }: PodSnapshot): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** Returns the process id that containerd adds to a verbose status. */
function pidOf(info: Readonly<Record<string, string>>): number {
  const { pid } = JSON.parse(info['info'] ?? '{}') as { pid?: number };
  if (pid === undefined) throw new Error('the status names no process');
  return pid;
}
