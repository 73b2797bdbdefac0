import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../src/clock.ts';
import { containerdEventStream } from '../src/containerd/containerd-event-stream.ts';
import type { InstalledContainerd } from '../src/containerd/find-containerd.ts';
import { ManagedContainerd } from '../src/containerd/managed-containerd.ts';
import { openChannel } from '../src/cri/grpc-channel.ts';
import { grpcImageService } from '../src/cri/grpc-image-service.ts';
import { grpcRuntimeService } from '../src/cri/grpc-runtime-service.ts';
import type { ImageService } from '../src/cri/image-service.ts';
import type { RuntimeService } from '../src/cri/runtime-service.ts';
import type { Container, ContainerStatus } from '../src/cri/types.ts';
import { openCgroupManager } from '../src/engine/container-manager/open-cgroup-manager.ts';
import { readCgroupDriver } from '../src/engine/container-manager/read-cgroup-driver.ts';
import { removePodCgroup } from '../src/engine/container-manager/remove-pod-cgroup.ts';
import type { Logger } from '../src/logger.ts';
import { ContainerExits } from './container-exits.ts';
import { removeLogLinks } from './log-links.ts';

const waitTimeoutMs = 120_000;

/** The benchmark's own containerd, with the image for its pods and temporary folders. */
export class Stage {
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  readonly exits = new ContainerExits();
  /** Path of the socket. */
  readonly socket: string;
  readonly folder: string;
  private readonly containerd: ManagedContainerd;
  private readonly logger: Logger;
  private readonly closeChannel: () => void;
  private folders = 0;

  private constructor(folder: string, containerd: ManagedContainerd, logger: Logger) {
    this.logger = logger;
    this.folder = folder;
    this.containerd = containerd;
    this.socket = containerd.paths.socket;
    const channel = openChannel(containerd.endpoint);
    this.runtime = grpcRuntimeService(channel);
    this.images = grpcImageService(channel);
    const closed = new AbortController();
    void this.exits.follow(containerdEventStream(channel).events, closed.signal);
    this.closeChannel = () => {
      closed.abort();
      channel.close();
    };
  }

  static async open(imageArchive: string, installed: InstalledContainerd, logger: Logger): Promise<Stage> {
    const folder = await mkdtemp('/tmp/kubelet-ts-bench-');
    const containerd = new ManagedContainerd({
      rootDir: join(folder, 'c'),
      clock: systemClock,
      logger,
      find: () => Promise.resolve(installed),
    });
    await containerd.start();
    await containerd.importImageArchive(imageArchive);
    return new Stage(folder, containerd, logger);
  }

  get containerdPID(): number {
    if (this.containerd.pid === undefined) throw new Error('containerd ended');
    return this.containerd.pid;
  }

  /** Creates a folder that is deleted with the stage. */
  async newFolder(): Promise<string> {
    this.folders += 1;
    const path = join(this.folder, this.folders.toString());
    await mkdir(path);
    return path;
  }

  /** Waits until the containers are as requested. The measured times are the runtime's own. */
  async waitForContainers(
    what: string,
    pollMs: number,
    wanted: (containers: Container[]) => boolean,
  ): Promise<Container[]> {
    const deadline = performance.now() + waitTimeoutMs;
    for (;;) {
      const { containers } = await this.runtime.listContainers({});
      if (wanted(containers)) return containers;
      if (performance.now() > deadline) throw new Error(`${what}: not within ${waitTimeoutMs / 1000} s`);
      await systemClock.sleep(pollMs);
    }
  }

  async containerStatus(containerId: string): Promise<ContainerStatus> {
    const { status } = await this.runtime.containerStatus({ containerId });
    if (status === undefined) throw new Error(`container ${containerId} has no status`);
    return status;
  }

  /** Returns the host PID of a running container. */
  async processOf(containerId: string): Promise<number> {
    const { info } = await this.runtime.containerStatus({ containerId, verbose: true });
    return (JSON.parse(info['info'] ?? '{}') as { pid: number }).pid;
  }

  /**
   * Resolves to the time at which this process exits. The runtime's own time is deleted with the container, possibly at
   * once.
   */
  async processEnd(pid: number): Promise<number> {
    while (isAlive(pid)) await systemClock.sleep(1);
    return Date.now();
  }

  /** Removes every pod of every agent. */
  async removePods(): Promise<void> {
    const { items } = await this.runtime.listPodSandbox({});
    for (const { id, metadata } of items) {
      await this.runtime.stopPodSandbox({ podSandboxId: id });
      await this.runtime.removePodSandbox({ podSandboxId: id });
      if (metadata !== undefined) await this.removeCgroup(metadata.uid);
    }
  }

  async removeCgroup(podUID: string): Promise<void> {
    const cgroupDriver = await readCgroupDriver(this.runtime, 'cgroupfs');
    const cgroups = await openCgroupManager(cgroupDriver, { clock: systemClock, logger: this.logger });
    await removePodCgroup(cgroups, '/', podUID);
  }

  async close(): Promise<void> {
    try {
      await this.removePods();
    } finally {
      this.closeChannel();
      await this.containerd.stop();
    }
    // Never deletes through a mount.
    const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n');
    if (mounts.some((line) => line.split(' ')[1]?.startsWith(this.folder) === true)) {
      process.stderr.write(`left behind, as something is mounted there: ${this.folder}\n`);
      return;
    }
    await rm(this.folder, { recursive: true, force: true });
    await removeLogLinks(this.folder);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
