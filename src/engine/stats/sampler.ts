import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import type { StillUsage, WantedUsage } from './cgroup-usage.ts';
import { addedDisk, type DiskUsageCache } from './disk-usage-cache.ts';
import type { DriverUsageCache } from './driver-usage-cache.ts';
import { diskStats } from './usage-stats.ts';
import type { FilesystemSize, Filesystems } from './filesystem-stats.ts';
import { hasDiskLimit } from './has-disk-limit.ts';
import { IdleCgroups } from './idle-cgroups.ts';
import { type StillValues, measureNode, measurePod, type MeasuredCgroup } from './measured-cgroups.ts';
import { networkStats } from './network-stats.ts';
import { hasSwap, readNodeStats } from './node-stats.ts';
import { PodCgroupPaths } from './pod-cgroup-paths.ts';
import { containerStats, podStats } from './pod-stats.ts';
import type { RuntimeContainerUsage, RuntimePodUsage } from './runtime-usage.ts';
import type { RuntimeDisks, RuntimeStats } from './runtime-stats.ts';
import type { DiskUsage } from './stats-provider.ts';
import type { StatsHost } from './stats-host.ts';
import type { StatsPod } from './stats-pods.ts';
import type { NetworkStats, NodeStats, PodStats, Summary } from './summary.ts';
import { type Reading, UsageReader } from './usage-reader.ts';

export interface SamplerDeps {
  host: StatsHost;
  nodeName: string;
  rootDir: string;
  cgroupRoot: string;
  /** Path of the cgroup that contains all pods, below the mount. */
  podsCgroup: string;
  /** Returns the pods to measure. */
  pods: () => Promise<readonly StatsPod[]>;
  /** Returns undefined for a pod without a manifest. */
  podOf: (uid: string) => Pod | undefined;
  runtimeStats: RuntimeStats;
  filesystems: Filesystems;
  disk: DiskUsageCache;
  /** Undefined if no agent runs. */
  drivers?: DriverUsageCache;
  clock: Clock;
}

/** Values that come from the runtime and the disks, not from cgroups. */
interface Reported {
  containers: ReadonlyMap<string, RuntimeContainerUsage>;
  pods: ReadonlyMap<string, RuntimePodUsage>;
  disks: RuntimeDisks;
  /** Disks, each by a path on it. */
  filesystems: ReadonlyMap<string, FilesystemSize>;
}

interface SampleContext extends Reported {
  cpuAndMemoryOnly: boolean;
  wanted: WantedUsage;
  wantedOfPods: WantedUsage;
  /** Undefined if every value must be read. */
  idle: IdleCgroups<StillUsage> | undefined;
  swapFreeBytes: number | undefined;
}

interface KnownNetwork {
  /** A process in this network. */
  pid: string;
  text: string;
  stats: NetworkStats;
}

/** Time between two reads of writable layers, unless a pod has a disk limit. */
const layersPeriodMs = 55_000;
/** How long eviction may use an old answer about which disk images are on, because it does not need their usage. */
const disksPeriodMs = 55_000;
/** containerd measures image usage at this period (stats_collect_period), so calling more often returns the same. */
const imagesPeriodMs = 10_000;
/**
 * How long the network counters of an idle pod are reused. They may change, because the kernel answers some packets
 * without CPU time of the pod. kubelet: cadvisor_linux.go maxHousekeepingInterval
 */
const quietNetworkMs = 15_000;
/** The event loop gets a turn after the cgroups of this many pods. */
const podsATurn = 50;
/** The same in full detail, where a pod takes four times as long. */
const detailedPodsATurn = 12;

/** Measures everything once. INVARIANT: one sample at a time. */
export class Sampler {
  private readonly reader: UsageReader;
  /** Reader for samples without pods. It is separate, because each sample drops the pods that it did not read. */
  private readonly nodeReader: UsageReader;
  private readonly idle: IdleCgroups<StillValues>;
  /** Still values: one cache for full samples, and one for samples with only CPU and memory. */
  private readonly still: Record<'all' | 'cpuAndMemory', IdleCgroups<StillUsage>>;
  /** Networks of idle pods, by sandbox. */
  private readonly quietNetworks: IdleCgroups<NetworkStats | undefined>;
  private readonly paths: PodCgroupPaths;
  /** The network of each sandbox as last read, by sandbox id. */
  private readonly networks = new Map<string, KnownNetwork>();

  constructor(private readonly deps: SamplerDeps) {
    this.reader = new UsageReader(deps);
    this.nodeReader = new UsageReader(deps);
    this.idle = new IdleCgroups(deps.clock);
    this.still = { all: new IdleCgroups(deps.clock), cpuAndMemory: new IdleCgroups(deps.clock) };
    this.quietNetworks = new IdleCgroups(deps.clock, { maxAgeMs: quietNetworkMs });
    this.paths = new PodCgroupPaths({ sources: deps.host.cgroups, cgroupRoot: deps.cgroupRoot });
  }

  /**
   * Takes a sample, without values that cannot be read. With `anew`, also reads the memory and networks of cgroups that
   * used no CPU since the last sample. Without it, their memory may be a minute old, their network 15 s, and the usage
   * of images 10 s.
   */
  async sample({ cpuAndMemoryOnly = false, anew = true } = {}): Promise<Summary> {
    const { nodeName, podsCgroup, clock, disk, drivers } = this.deps;
    const pods = await this.deps.pods();
    this.retain(pods);
    if (!cpuAndMemoryOnly) {
      disk.refresh(pods);
      drivers?.refresh(pods);
    }
    const reported = await this.ask(pods, cpuAndMemoryOnly, anew ? 0 : imagesPeriodMs);
    const wanted: WantedUsage = cpuAndMemoryOnly
      ? {}
      : { swap: hasSwap(this.reader) ? 'measured' : 'unused', pressure: true };
    const kernel = readNodeStats(this.reader, { podsCgroup, wanted });
    const still = this.still[cpuAndMemoryOnly ? 'cpuAndMemory' : 'all'];
    const idle = anew ? undefined : still;
    const wantedOfPods = cpuAndMemoryOnly ? wanted : { ...wanted, tasks: true };
    const swapFreeBytes = kernel.swap?.swapAvailableBytes;
    const context = { ...reported, cpuAndMemoryOnly, wanted, wantedOfPods, idle, swapFreeBytes };
    const measured: PodStats[] = [];
    for (const [index, pod] of pods.entries()) {
      if (index > 0 && index % podsATurn === 0) await clock.sleep(0);
      measured.push(this.readPod(pod, context));
    }
    if (!anew) still.endSample();
    if (!anew && !cpuAndMemoryOnly) this.quietNetworks.endSample();
    this.reader.endSample();
    return { node: { nodeName, ...kernel, ...this.nodeDisks(context) }, pods: measured };
  }

  /** Samples only the node, which is much cheaper. May run concurrently with another sample. */
  async sampleNode(): Promise<Summary> {
    const { nodeName, podsCgroup, clock } = this.deps;
    const reported = await this.ask([], false, disksPeriodMs);
    const time = new Date(clock.now()).toISOString();
    // Their free space is from now.
    const disks = Object.fromEntries(Object.entries(reported.disks).map(([name, disk]) => [name, { ...disk, time }]));
    const wanted: WantedUsage = { tasks: true };
    const kernel = readNodeStats(this.nodeReader, { podsCgroup, wanted });
    this.nodeReader.endSample();
    const context = { ...reported, disks, cpuAndMemoryOnly: false };
    return { node: { nodeName, ...kernel, ...this.nodeDisks(context) }, pods: [] };
  }

  /** Reads files that no other sample needs. May run concurrently with another sample. */
  async cgroups(): Promise<MeasuredCgroup[]> {
    const { host, podsCgroup, clock } = this.deps;
    if (host.cgroups.cpu === undefined && host.cgroups.memory === undefined) return [];
    const pods = await this.deps.pods();
    const { files, cgroupFiles } = this.reader;
    const request = { files, cgroupFiles, idle: this.idle, host, paths: this.paths, now: clock.now() };
    const measured = measureNode(request, podsCgroup);
    for (const [index, pod] of pods.entries()) {
      if (index > 0 && index % detailedPodsATurn === 0) await clock.sleep(0);
      measured.push(...measurePod(request, pod));
    }
    this.idle.endSample();
    cgroupFiles.endSample();
    return measured;
  }

  /** Returns what was last measured, and starts to measure what is due. */
  async diskUsage(): Promise<DiskUsage> {
    const { disk, drivers } = this.deps;
    const pods = await this.deps.pods();
    disk.refresh(pods);
    drivers?.refresh(pods);
    const volumes = pods.flatMap(({ uid }) => [...(drivers?.of(uid) ?? []), ...(disk.of(uid)?.volumes ?? [])]);
    const logs = pods.flatMap(({ uid, name, namespace }) =>
      [...(disk.of(uid)?.logs ?? [])].map(([container, { usedBytes }]) => ({
        pod: { uid, name, namespace },
        container,
        usedBytes,
      })),
    );
    return { logs, claims: volumes.filter(({ pvcRef }) => pvcRef !== undefined) };
  }

  private async ask(pods: readonly StatsPod[], cpuAndMemoryOnly: boolean, maxDisksAgeMs: number): Promise<Reported> {
    const { runtimeStats, filesystems, rootDir, podOf } = this.deps;
    const isLimited = ({ uid }: StatsPod): boolean => {
      const manifest = podOf(uid);
      return manifest !== undefined && hasDiskLimit(manifest);
    };
    const isPodWithout = pods.some(({ uid }) => this.paths.ofPod(uid) === undefined);
    const isContainerWithout = pods.some(({ uid, containers }) =>
      containers.some(({ id }) => this.paths.ofContainer(uid, id) === undefined),
    );
    const [containers, runtimePods, disks]: [Reported['containers'], Reported['pods'], RuntimeDisks] =
      await Promise.all([
        isContainerWithout || (!cpuAndMemoryOnly && pods.length > 0)
          ? runtimeStats.containers({ maxAgeMs: isContainerWithout || pods.some(isLimited) ? 0 : layersPeriodMs })
          : new Map<string, never>(),
        isPodWithout ? runtimeStats.pods() : new Map<string, never>(),
        cpuAndMemoryOnly ? {} : runtimeStats.disks({ maxAgeMs: maxDisksAgeMs }),
      ]);
    if (cpuAndMemoryOnly) {
      const [ofContainers, ofPods] = [cpuAndMemoryOf(containers), cpuAndMemoryOf(runtimePods)];
      return { containers: ofContainers, pods: ofPods, disks, filesystems: new Map() };
    }
    const ours = pods.flatMap((pod) => pod.containers.map(({ id }) => containers.get(id)?.writableLayer));
    const paths = [...ours, disks.imageFs, disks.containerFs].flatMap((disk) => disk?.mountpoint ?? []);
    const read = [...new Set([rootDir, ...paths])].map(async (path): Promise<[string, FilesystemSize | undefined]> => [
      path,
      await filesystems.read(path),
    ]);
    const known = (await Promise.all(read)).flatMap(([path, figures]) => (figures ? [[path, figures] as const] : []));
    return { containers, pods: runtimePods, disks, filesystems: new Map(known) };
  }

  private readPod(pod: StatsPod, context: SampleContext): PodStats {
    const { disk, drivers, rootDir, podOf } = this.deps;
    const { cpuAndMemoryOnly, wanted, wantedOfPods, idle, filesystems, swapFreeBytes } = context;
    const rootFs = filesystems.get(rootDir);
    const usage = cpuAndMemoryOnly ? undefined : disk.of(pod.uid);
    const runtime = context.pods.get(pod.uid);
    const reading = this.reader.read({
      cgroup: this.paths.ofPod(pod.uid),
      wanted: wantedOfPods,
      idle,
      runtime: { key: pod.uid, cpu: runtime?.cpu },
    });
    const containers = pod.containers.map((container) => {
      const figures = context.containers.get(container.id);
      const read = this.reader.read({
        cgroup: this.paths.ofContainer(pod.uid, container.id),
        wanted,
        idle,
        above: reading,
        runtime: { key: container.id, cpu: figures?.cpu },
      });
      return containerStats(container, read, {
        runtime: figures,
        swapFreeBytes,
        layerDisk: filesystems.get(figures?.writableLayer?.mountpoint ?? ''),
        // Everything that the container writes outside of its layer and volumes counts against one limit.
        logs: addedDisk(usage?.logs.get(container.name), usage?.terminationLogs.get(container.name)),
        rootFs,
      });
    });
    const network = cpuAndMemoryOnly || !pod.hasNetwork ? undefined : this.networkOf(pod, reading, idle !== undefined);
    const driverVolumes = cpuAndMemoryOnly ? [] : (drivers?.of(pod.uid) ?? []);
    const sources = { disk: usage, driverVolumes, rootFs, runtime, network, pod: podOf(pod.uid) };
    return podStats(pod, containers, reading, sources);
  }

  private nodeDisks({
    disks,
    filesystems,
    cpuAndMemoryOnly,
  }: Pick<SampleContext, 'disks' | 'filesystems' | 'cpuAndMemoryOnly'>): Pick<NodeStats, 'fs' | 'runtime'> {
    if (cpuAndMemoryOnly) return {};
    const rootFs = filesystems.get(this.deps.rootDir);
    const { imageFs, containerFs } = disks;
    return {
      ...(rootFs && { fs: { time: new Date(this.deps.clock.now()).toISOString(), ...rootFs } }),
      ...((imageFs ?? containerFs) && {
        runtime: {
          ...(imageFs && { imageFs: diskStats(imageFs, filesystems.get(imageFs.mountpoint)) }),
          ...(containerFs && { containerFs: diskStats(containerFs, filesystems.get(containerFs.mountpoint)) }),
        },
      }),
    };
  }

  /** If `mayBeOlder`, reuses the values of an idle pod, with the time when they were read. */
  private networkOf(pod: StatsPod, { time, cgroup }: Reading, mayBeOlder: boolean): NetworkStats | undefined {
    const read = (): NetworkStats | undefined => this.readNetwork(pod, time);
    return mayBeOlder ? this.quietNetworks.valuesOf(pod.sandboxID, cgroup?.cpuNanos, read) : read();
  }

  /** Reads the interfaces in a pod's network, as its sandbox sees them. */
  private readNetwork({ uid, sandboxID }: StatsPod, time: string): NetworkStats | undefined {
    const { files, host } = this.reader;
    const readWith = (pid: string | undefined): string | undefined =>
      pid === undefined ? undefined : files.readList(`${host.procFolder}/${pid}/net/dev`);
    const known = this.networks.get(sandboxID);
    let pid = known?.pid;
    let text = readWith(pid);
    if (text === undefined) {
      pid = this.firstProcess(this.paths.ofContainer(uid, sandboxID));
      text = readWith(pid);
    }
    if (pid === undefined || text === undefined) return undefined;
    // Most networks are quiet, and comparing the text is faster than parsing it.
    if (known?.pid === pid && known.text === text) return { ...known.stats, time };
    const stats = networkStats(text, time);
    this.networks.set(sandboxID, { pid, text, stats });
    return stats;
  }

  private firstProcess(cgroup: string | undefined): string | undefined {
    const { files, host } = this.reader;
    const top = (host.cgroups.memory ?? host.cgroups.cpu)?.top;
    if (cgroup === undefined || top === undefined) return undefined;
    const [pid = ''] = (files.readList(`${top}${cgroup}/cgroup.procs`) ?? '').split('\n');
    // A process in another PID namespace is listed as 0.
    return /^[1-9]\d*$/.test(pid) ? pid : undefined;
  }

  /** Drops all other pods. */
  private retain(pods: readonly StatsPod[]): void {
    const sandboxes = new Set(pods.map(({ sandboxID }) => sandboxID));
    const ids = [...sandboxes, ...pods.flatMap(({ containers }) => containers.map(({ id }) => id))];
    this.paths.retain(new Set(pods.map(({ uid }) => uid)), new Set(ids));
    for (const id of this.networks.keys()) if (!sandboxes.has(id)) this.networks.delete(id);
  }
}

/** Leaves out all other values. */
function cpuAndMemoryOf<T extends { cpu?: object; memory?: object }>(
  figures: ReadonlyMap<string, T>,
): ReadonlyMap<string, Pick<T, 'cpu' | 'memory'>> {
  const kept = [...figures].map(
    ([key, { cpu, memory }]) => [key, { ...(cpu && { cpu }), ...(memory && { memory }) }] as const,
  );
  return new Map(kept);
}
