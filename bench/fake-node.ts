import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { systemClock } from '../src/clock.ts';
import { codes, Refusal } from '../test/fakes/fake-calls.ts';
import { FakeCriServer } from '../test/fakes/fake-cri-server.ts';
import { FakeRuntime } from '../test/fakes/fake-runtime.ts';
import { benchImage, scaleContainers, scaleManifest } from './bench-pod.ts';
import { removeLogLinks } from './log-links.ts';
import { processUsage, threadsCpuMs, type Usage } from './process-usage.ts';

const pollMs = 50;
/** An agent is idle if it uses no more CPU than this within the window. Each pod is synced once a minute. */
const rest = { cpuMs: 20, cpuMsPerPod: 0.4, windowMs: 2000 };
const waitTimeoutMs = 600_000;

/** Our agent on an in-memory runtime, so that we measure the agent and not real containers. */
export class FakeNode {
  readonly runtime = new FakeRuntime({ clock: systemClock });
  readonly names: readonly string[];
  private readonly folder: string;
  private readonly server = new FakeCriServer(this.runtime);
  private child: ChildProcess | undefined;

  private constructor(folder: string, pods: number) {
    this.folder = folder;
    this.names = Array.from({ length: pods }, (_, index) => `scale-${index}`);
  }

  static async open(pods: number): Promise<FakeNode> {
    const node = new FakeNode(await mkdtemp('/tmp/kubelet-ts-scale-'), pods);
    const manifests = join(node.folder, 'manifests');
    await mkdir(manifests);
    for (const name of node.names) await writeFile(join(manifests, `${name}.json`), scaleManifest(name));
    node.runtime.addImage(benchImage);
    node.runtime.onOpenLog(({ logPath }) => {
      appendFileSync(logPath, '');
    });
    await node.server.start({ socketPath: node.socket });
    return node;
  }

  /** The agent's root-dir. */
  get root(): string {
    return join(this.folder, 'root');
  }

  get containers(): number {
    return this.names.length * scaleContainers.length;
  }

  /**
   * Makes the manifests as old as they are at boot. For newer ones, the agent looks for processes that may still be
   * writing them.
   */
  async ageManifests(): Promise<void> {
    const hourAgo = Date.now() / 1000 - 3600;
    for (const name of this.names) await utimes(join(this.folder, 'manifests', `${name}.json`), hourAgo, hourAgo);
  }

  /** Starts the agent. Resolves to the time just before that, in monotonic milliseconds. */
  async start(program = resolve('bin/kubelet-ts')): Promise<number> {
    const log = await open(join(this.folder, 'agent.log'), 'a');
    const flags = [
      ...['--root-dir', this.root, '--pod-logs-dir', join(this.root, 'logs'), '--hostname-override', 'bench'],
      ...['--container-runtime-endpoint', `unix://${this.socket}`, '--max-pods', `${this.names.length + 10}`],
      // No cgroups, because the pods are not real.
      ...['--cgroups-per-qos=false', '--enforce-node-allocatable', 'none'],
      ...['--no-tui', '--healthz-port', '0', '--log-level', 'warn'],
    ];
    const from = performance.now();
    this.child = spawn(program, ['run', ...flags, join(this.folder, 'manifests')], {
      stdio: ['ignore', log.fd, log.fd],
    });
    await log.close();
    return from;
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { child } = this;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  async until(what: string, isSo: () => boolean, everyMs = pollMs): Promise<void> {
    const deadline = performance.now() + waitTimeoutMs;
    while (!isSo()) {
      if (this.child?.exitCode !== null) throw new Error(`the agent ended:\n${await this.lastLogLines()}`);
      if (performance.now() > deadline) throw new Error(`${what}: not within ${waitTimeoutMs / 1000} s`);
      await systemClock.sleep(everyMs);
    }
  }

  /** Resolves to the agent's usage once it is idle. */
  async atRest(): Promise<Usage> {
    const restMs = rest.cpuMs + rest.cpuMsPerPod * this.names.length;
    for (let before = await this.usage(); ;) {
      await systemClock.sleep(rest.windowMs);
      const now = await this.usage();
      if (now.cpuMs - before.cpuMs <= restMs) return now;
      before = now;
    }
  }

  usage(): Promise<Usage> {
    return processUsage(this.child?.pid ?? NaN);
  }

  /** The agent's CPU since it started, in milliseconds. */
  get cpuMs(): number {
    return threadsCpuMs(this.child?.pid ?? NaN);
  }

  /** How often all containers have been listed so far. */
  get relists(): number {
    return this.runtime.calls.filter(
      ({ method, request }) => method === 'listContainers' && isForAll(request as { filter?: object }),
    ).length;
  }

  /** Closes the runtime's event stream. From then on, the agent lists everything each second. */
  endEvents(): void {
    const refused = new Refusal(codes.unimplemented, 'there are no events');
    this.runtime.injectError('getContainerEvents', refused, { times: Infinity });
    this.runtime.endEventStreams();
  }

  async close(): Promise<void> {
    await this.stop('SIGKILL');
    this.server.stop();
    await rm(this.folder, { recursive: true, force: true });
    await removeLogLinks(this.folder);
  }

  private get socket(): string {
    return join(this.folder, 'cri.sock');
  }

  private async lastLogLines(): Promise<string> {
    return (await readFile(join(this.folder, 'agent.log'), 'utf8')).split('\n').slice(-20).join('\n');
  }
}

function isForAll({ filter }: { filter?: { labelSelector?: object } }): boolean {
  return Object.keys(filter?.labelSelector ?? {}).length === 0;
}
