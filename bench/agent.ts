import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Container } from '../src/cri/types.ts';
import { benchManifest, containerName } from './bench-pod.ts';
import { millis } from './floor.ts';
import type { Stage } from './stage.ts';

export interface AgentCommand {
  /** The agent's name in the table. */
  name: string;
  /** Shell command with the placeholders {dir}, {root} and {sock}. */
  command: string;
}

/**
 * Milliseconds between two polls of the runtime's timestamps: frequent for one pod, rare enough not to disturb many.
 */
const pollMs = { one: 100, many: 200 };

/** A running agent with a separate folder of manifests. */
export class Agent {
  readonly name: string;
  readonly root: string;
  /** Wall clock time just before the agent was started. */
  readonly spawnedAt: number;
  readonly pid: number;
  private readonly stage: Stage;
  private readonly dir: string;
  private readonly log: string;
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown>;

  private constructor(stage: Stage, name: string, folder: string, child: ChildProcess, spawnedAt: number) {
    this.stage = stage;
    this.name = name;
    const { root, dir, log } = foldersOf(folder);
    this.root = root;
    this.dir = dir;
    this.log = log;
    this.child = child;
    this.spawnedAt = spawnedAt;
    this.exited = once(child, 'exit');
    if (child.pid === undefined) throw new Error('the agent could not be started');
    this.pid = child.pid;
  }

  /** Starts the agent on a folder that already contains these manifests. */
  static async start(stage: Stage, { name, command }: AgentCommand, waiting: readonly string[] = []): Promise<Agent> {
    const folder = await stage.newFolder();
    const { root, dir, log } = foldersOf(folder);
    await Promise.all([mkdir(root), mkdir(dir)]);
    for (const pod of waiting) await writeFile(join(dir, `${pod}.json`), benchManifest(pod));
    const filled = command.replaceAll('{dir}', dir).replaceAll('{root}', root).replaceAll('{sock}', stage.socket);
    const output = await open(log, 'a');
    const spawnedAt = Date.now();
    const child = spawn('/bin/sh', ['-c', `exec ${filled}`], { stdio: ['ignore', output.fd, output.fd] });
    await output.close();
    return new Agent(stage, name, folder, child, spawnedAt);
  }

  /** Moves complete manifests into the watched folder. Resolves to the time just before the first one was moved. */
  async drop(names: readonly string[], manifestOf = benchManifest): Promise<number> {
    const staged = names.map((name) => ({
      from: join(this.root, `${name}.json`),
      to: join(this.dir, `${name}.json`),
      name,
    }));
    for (const { from, name } of staged) await writeFile(from, manifestOf(name));
    const droppedAt = Date.now();
    await Promise.all(staged.map(({ from, to }) => rename(from, to)));
    return droppedAt;
  }

  /** Removes manifests. Resolves to the time just before that. */
  async remove(names: readonly string[]): Promise<number> {
    const removedAt = Date.now();
    await Promise.all(names.map((name) => rm(join(this.dir, `${name}.json`))));
    return removedAt;
  }

  /**
   * Returns the times at which the last of these pods had its container created and started, and that container's id.
   */
  async started(
    names: readonly string[],
    attempt = 0,
  ): Promise<{ createdAt: number; startedAt: number; containerID: string }> {
    const containers = await this.stage.waitForContainers(
      `${names.length} pods start`,
      pollMs[names.length === 1 ? 'one' : 'many'],
      (all) => {
        if (this.hasEnded) throw new Error(`${this.name} ended by itself`);
        return names.every((name) => all.some((one) => isOf(name, attempt)(one) && one.state === 'CONTAINER_RUNNING'));
      },
    );
    const own = containers.filter((container) => names.some((name) => isOf(name, attempt)(container)));
    const statuses = await Promise.all(own.map(({ id }) => this.stage.containerStatus(id)));
    return {
      createdAt: Math.max(...statuses.map(({ createdAt }) => millis(createdAt))),
      startedAt: Math.max(...statuses.map(({ startedAt }) => millis(startedAt))),
      containerID: own[0]?.id ?? '',
    };
  }

  private get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Returns the last lines of its log. */
  async lastLogLines(): Promise<string> {
    return (await readFile(this.log, 'utf8')).split('\n').slice(-20).join('\n');
  }

  /**
   * Stops the agent with SIGTERM, and after some seconds with SIGKILL. Its pods keep running. May be called more than
   * once.
   */
  async stop(): Promise<void> {
    if (this.hasEnded) return;
    const hung = setTimeout(() => this.child.kill('SIGKILL'), 5000);
    this.child.kill('SIGTERM');
    await this.exited;
    clearTimeout(hung);
  }
}

function foldersOf(folder: string): { root: string; dir: string; log: string } {
  return { root: join(folder, 'root'), dir: join(folder, 'manifests'), log: join(folder, 'agent.log') };
}

/** True for the container of a pod. A static pod is named after its manifest plus the node. */
const isOf =
  (pod: string, attempt: number) =>
  ({ labels, metadata }: Container): boolean =>
    labels['io.kubernetes.pod.name']?.startsWith(`${pod}-`) === true &&
    metadata?.name === containerName &&
    metadata.attempt === attempt;
