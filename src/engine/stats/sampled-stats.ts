import type { Clock } from '../../clock.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import type { MeasuredCgroup } from './measured-cgroups.ts';
import type { Sampler } from './sampler.ts';
import type { DiskUsage, StatsProvider, SummaryRequest } from './stats-provider.ts';
import type { Summary } from './summary.ts';

interface Deps {
  /** Its `sample` is called again only after the last call has finished. */
  sampler: Pick<Sampler, 'sample' | 'sampleNode' | 'cgroups' | 'diskUsage'>;
  clock: Clock;
}

interface WantedSample {
  cpuAndMemoryOnly: boolean;
  /** True if a caller needs a new sample, as eviction does. */
  anew: boolean;
}

interface Sample {
  cpuAndMemoryOnly: boolean;
  startedAtMonotonic: number;
  result: Promise<Summary>;
}

/** Shares samples among all callers. Takes one sample at a time, and keeps the last one. */
export class SampledStats implements StatsProvider {
  /** The newest successful samples, of the larger and the smaller kind. */
  private newest: { cpuAndMemoryOnly: boolean; startedAtMonotonic: number; summary: Summary }[] = [];
  private underWay: Sample | undefined;
  /** The sample that begins when the current one has finished. */
  private next: { wanted: WantedSample; result: Promise<Summary> } | undefined;

  private measured: { startedAtMonotonic: number; result: Promise<MeasuredCgroup[]> } | undefined;

  constructor(private readonly deps: Deps) {}

  async summary({ maxAgeMs, cpuAndMemoryOnly = false, signal }: SummaryRequest): Promise<Summary> {
    signal?.throwIfAborted();
    const result = this.young(maxAgeMs, cpuAndMemoryOnly) ?? this.sampleWithin(maxAgeMs, cpuAndMemoryOnly);
    return signal === undefined ? result : unlessAborted(Promise.resolve(result), signal);
  }

  nodeSummary(signal: AbortSignal): Promise<Summary> {
    return unlessAborted(this.deps.sampler.sampleNode(), signal);
  }

  cgroups({ maxAgeMs }: { maxAgeMs: number }): Promise<readonly MeasuredCgroup[]> {
    const nowMonotonic = this.deps.clock.monotonic();
    if (this.measured === undefined || nowMonotonic - this.measured.startedAtMonotonic >= maxAgeMs)
      this.measured = { startedAtMonotonic: nowMonotonic, result: this.deps.sampler.cgroups() };
    return this.measured.result;
  }

  diskUsage(): Promise<DiskUsage> {
    return this.deps.sampler.diskUsage();
  }

  private young(maxAgeMs: number, cpuAndMemoryOnly: boolean): Summary | undefined {
    const oldestMonotonic = this.deps.clock.monotonic() - maxAgeMs;
    return this.newest.find(
      (sample) => sample.startedAtMonotonic > oldestMonotonic && (cpuAndMemoryOnly || !sample.cpuAndMemoryOnly),
    )?.summary;
  }

  /** Returns the current sample if it began late enough, or else one that begins after it. */
  private sampleWithin(maxAgeMs: number, cpuAndMemoryOnly: boolean): Promise<Summary> {
    const { underWay, next } = this;
    const anew = maxAgeMs === 0;
    if (underWay === undefined && next === undefined) return this.begin({ cpuAndMemoryOnly, anew });
    const isYoung = underWay !== undefined && this.deps.clock.monotonic() - underWay.startedAtMonotonic < maxAgeMs;
    if (isYoung && (cpuAndMemoryOnly || !underWay.cpuAndMemoryOnly)) return underWay.result;
    if (next !== undefined) {
      // The larger sample serves both.
      next.wanted.cpuAndMemoryOnly &&= cpuAndMemoryOnly;
      next.wanted.anew ||= anew;
      return next.result;
    }
    return this.beginAfter(underWay?.result, { cpuAndMemoryOnly, anew });
  }

  private beginAfter(before: Promise<unknown> | undefined, wanted: WantedSample): Promise<Summary> {
    const ended = Promise.resolve(before).catch(() => undefined);
    const result = ended.then(() => {
      this.next = undefined;
      return this.begin(wanted);
    });
    this.next = { wanted, result };
    return result;
  }

  private begin({ cpuAndMemoryOnly, anew }: WantedSample): Promise<Summary> {
    const startedAtMonotonic = this.deps.clock.monotonic();
    const measuring = async (): Promise<Summary> => {
      try {
        const summary = await this.deps.sampler.sample({ cpuAndMemoryOnly, anew });
        const larger = cpuAndMemoryOnly ? this.newest.filter((sample) => !sample.cpuAndMemoryOnly) : [];
        this.newest = [{ cpuAndMemoryOnly, startedAtMonotonic, summary }, ...larger];
        return summary;
      } finally {
        this.underWay = undefined;
      }
    };
    const result = measuring();
    // All callers may have stopped waiting.
    result.catch(() => undefined);
    this.underWay = { cpuAndMemoryOnly, startedAtMonotonic, result };
    return result;
  }
}
