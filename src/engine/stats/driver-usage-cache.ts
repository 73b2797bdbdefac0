import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import { withTimeout } from '../../flow/with-timeout.ts';
import type { Logger } from '../../logger.ts';
import type { FsUsage } from '../host/fs-usage.ts';
import type { MeasuredVolume } from '../volumes/measured-volume.ts';
import type { StatsPod } from './stats-pods.ts';
import type { VolumeStats } from './summary.ts';

interface Deps {
  /** Shortest time between two calls for a volume. Zero or negative: drivers are not called. */
  volumeStatsAggPeriodMs: number;
  /** Returns undefined for a pod without a manifest. */
  podOf: (uid: string) => Pod | undefined;
  volumesOf: (pod: Pod) => readonly MeasuredVolume[];
  /** Resolves with undefined if the driver reports no usage. */
  driverUsage: (podUID: string, specName: string, signal: AbortSignal) => Promise<FsUsage | undefined>;
  clock: Clock;
  /** Returns a uniform number in [0, 1). */
  random: () => number;
  logger: Logger;
}

interface Due {
  podUID: string;
  volume: MeasuredVolume;
}

interface Entry {
  dueAtMonotonic: number;
  usage?: VolumeStats;
}

type Answer = VolumeStats | 'none' | 'failed';

/** Longest wait for a driver. */
const patienceMs = 10_000;

/**
 * Usage of volumes as their CSI drivers report it, queried in the background. Each driver gets one call at a time, so
 * that a hung driver does not delay the others. kubelet: pkg/volume/csi/csi_metrics.go,
 * server/stats/volume_stat_calculator.go
 */
export class DriverUsageCache {
  /** By UID of the pod, then by name of the volume. */
  private readonly pods = new Map<string, Map<string, Entry>>();
  private readonly asked = new Set<string>();
  /** Drivers whose last call failed. */
  private readonly failing = new Set<string>();

  constructor(private readonly deps: Deps) {}

  /** Returns the last reported usage of a pod's volumes. */
  of(podUID: string): VolumeStats[] {
    return [...(this.pods.get(podUID)?.values() ?? [])].flatMap(({ usage }) => usage ?? []);
  }

  /** Starts to query the volumes that are due, without waiting. Drops all pods not listed here. */
  refresh(pods: readonly StatsPod[]): void {
    const { volumeStatsAggPeriodMs, clock } = this.deps;
    const known = new Set(pods.map(({ uid }) => uid));
    for (const uid of this.pods.keys()) if (!known.has(uid)) this.pods.delete(uid);
    if (volumeStatsAggPeriodMs <= 0) return;
    const nowMonotonic = clock.monotonic();
    const byDriver = new Map<string, Due[]>();
    for (const { uid } of pods) {
      for (const volume of this.volumesOf(uid)) {
        if (this.asked.has(volume.driver) || this.dueAtMonotonic(uid, volume) > nowMonotonic) continue;
        byDriver.set(volume.driver, [...(byDriver.get(volume.driver) ?? []), { podUID: uid, volume }]);
      }
    }
    for (const [driver, due] of byDriver) void this.askDriver(driver, due);
  }

  private volumesOf(uid: string): MeasuredVolume[] {
    const pod = this.deps.podOf(uid);
    const hasDriver = pod?.spec.volumes?.some(({ csi, persistentVolumeClaim: claim }) => csi ?? claim) === true;
    return pod && hasDriver ? this.deps.volumesOf(pod).filter(({ method }) => method === 'driver') : [];
  }

  private dueAtMonotonic(uid: string, { name }: MeasuredVolume): number {
    return this.pods.get(uid)?.get(name)?.dueAtMonotonic ?? -Infinity;
  }

  /** If a call fails, the driver's other volumes wait until they are due again. */
  private async askDriver(driver: string, due: readonly Due[]): Promise<void> {
    const { clock, random, volumeStatsAggPeriodMs } = this.deps;
    this.asked.add(driver);
    let answers = true;
    for (const one of due) {
      const answer: Answer = answers ? await this.answer(one) : 'failed';
      answers = answer !== 'failed';
      const dueAtMonotonic = clock.monotonic() + volumeStatsAggPeriodMs * (1 + random());
      const entries = this.pods.get(one.podUID) ?? new Map<string, Entry>();
      entries.set(one.volume.name, { dueAtMonotonic, ...(typeof answer === 'object' && { usage: answer }) });
      this.pods.set(one.podUID, entries);
    }
    if (answers) this.failing.delete(driver);
    this.asked.delete(driver);
  }

  private async answer(due: Due): Promise<Answer> {
    const { driver, name: volume } = due.volume;
    try {
      return (await this.ask(due)) ?? 'none';
    } catch (error) {
      if (!this.failing.has(driver))
        this.deps.logger.warn({ err: errorMessage(error), driver, volume }, 'A CSI driver does not report usage');
      this.failing.add(driver);
      return 'failed';
    }
  }

  private async ask({ podUID, volume }: Due): Promise<VolumeStats | undefined> {
    const { clock, driverUsage } = this.deps;
    const over = new AbortController();
    try {
      const usage = await withTimeout(clock, patienceMs, driverUsage(podUID, volume.specName, over.signal));
      const { name, pvcRef } = volume;
      const time = new Date(clock.now()).toISOString();
      return usage && { time, ...usage, name, ...(pvcRef && { pvcRef }) };
    } finally {
      over.abort(new Error('no longer waited for'));
    }
  }
}
