import type { Clock } from '../../src/clock.ts';
import type { MeasuredCgroup } from '../../src/engine/stats/measured-cgroups.ts';
import type { DiskUsage, StatsProvider, SummaryRequest } from '../../src/engine/stats/stats-provider.ts';
import type { NodeStats, PodStats, Summary } from '../../src/engine/stats/summary.ts';

const mebibyte = 1024 * 1024;

/** Amounts for a node with 1 GiB of memory, one disk of 1 GiB with 1000 inodes, and 1000 process ids. */
export interface FakeAmounts {
  memoryAvailable: number;
  podsMemoryAvailable: number;
  diskAvailable: number;
  inodesFree: number;
  processes: number;
}

/** Statistics that the test sets. At first, nothing is scarce. */
export class FakeStats implements StatsProvider {
  /** Bytes and counts, read for each summary. */
  amounts: FakeAmounts = {
    memoryAvailable: 512 * mebibyte,
    podsMemoryAvailable: 512 * mebibyte,
    diskAvailable: 512 * mebibyte,
    inodesFree: 500,
    processes: 100,
  };
  /** Usage of pods by UID. A pod without an entry uses nothing. */
  readonly pods = new Map<string, Partial<PodStats>>();
  measuredCgroups: readonly MeasuredCgroup[] = [];
  /** Replaces the next summaries, for example with one that never resolves. */
  instead: ((request: SummaryRequest) => Promise<Summary>) | undefined;
  /** Number of summaries that were requested. */
  asked = 0;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  async summary(request: SummaryRequest): Promise<Summary> {
    this.asked += 1;
    return this.instead?.(request) ?? { node: this.#node(), pods: this.#pods() };
  }

  async nodeSummary(signal: AbortSignal): Promise<Summary> {
    const { node } = await this.summary({ maxAgeMs: 0, signal });
    return { node, pods: [] };
  }

  cgroups(): Promise<readonly MeasuredCgroup[]> {
    return Promise.resolve(this.measuredCgroups);
  }

  async diskUsage(): Promise<DiskUsage> {
    const { pods } = await this.summary({ maxAgeMs: 0 });
    const logs = pods.flatMap(({ podRef: pod, containers }) =>
      containers.map(({ name: container, logs }) => ({ pod, container, usedBytes: logs?.usedBytes ?? 0 })),
    );
    const volumes = pods.flatMap(({ volume = [] }) => volume);
    return { logs, claims: volumes.filter(({ pvcRef }) => pvcRef !== undefined) };
  }

  /** The time of the statistics. */
  get time(): string {
    return new Date(this.#clock.now()).toISOString();
  }

  /** The one disk, as `statfs` reports it. */
  get disk(): { capacityBytes: bigint; availableBytes: bigint } {
    return { capacityBytes: 1024n * BigInt(mebibyte), availableBytes: BigInt(this.amounts.diskAvailable) };
  }

  #node(): NodeStats {
    const { time } = this;
    const { memoryAvailable, podsMemoryAvailable, diskAvailable, inodesFree, processes } = this.amounts;
    const memory = (availableBytes: number) => ({
      time,
      availableBytes,
      workingSetBytes: 1024 * mebibyte - availableBytes,
    });
    const disk = { time, capacityBytes: 1024 * mebibyte, availableBytes: diskAvailable, inodes: 1000, inodesFree };
    return {
      nodeName: 'edge1',
      startTime: time,
      memory: memory(memoryAvailable),
      fs: disk,
      runtime: { imageFs: disk, containerFs: disk },
      rlimit: { time, maxpid: 1000, curproc: processes },
      systemContainers: [{ name: 'pods', startTime: time, memory: memory(podsMemoryAvailable) }],
    };
  }

  #pods(): PodStats[] {
    return [...this.pods].map(([uid, usage]) => ({
      podRef: { uid, name: uid, namespace: 'default' },
      startTime: this.time,
      containers: [],
      ...usage,
    }));
  }
}
