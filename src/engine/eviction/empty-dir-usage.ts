import type { Pod, Volume } from '../../api/types.ts';
import { formatPod } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { VolumeStats } from '../stats/summary.ts';
import { treeUsage, usedDisk } from '../volumes/disk-usage.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';
import { limitedEmptyDir } from './storage-limits.ts';

/** Largest share of time that measuring may take, because large volumes take long. */
const maxShare = 0.01;

interface Deps {
  pods: () => readonly Pod[];
  volumeManager: Pick<VolumeManager, 'emptyDirPath'>;
  clock: Clock;
  /** Counting stops at this many names in a volume. */
  maxNames?: number;
  logger: Logger;
}

/** Usage of volumes by UID of their pod. */
export type VolumesByPod = ReadonlyMap<string, readonly VolumeStats[]>;

/** An emptyDir, and the number of bytes at which counting stops. */
interface Counted {
  name: string;
  enoughBytes: bigint | undefined;
}

/** Measures emptyDirs on disk. The statistics measure all volumes, but less often. */
export class EmptyDirUsage {
  private limited: VolumesByPod = new Map();
  private nextAtMonotonic = -Infinity;

  constructor(private readonly deps: Deps) {}

  /**
   * Counts emptyDirs with a limit, each only up to its limit. Returns the last result if the last measurement was
   * recent and took long.
   */
  async ofLimited(): Promise<VolumesByPod> {
    const { clock } = this.deps;
    const startedAtMonotonic = clock.monotonic();
    if (startedAtMonotonic < this.nextAtMonotonic) return this.limited;
    this.limited = await this.measure(limitedOnDisk);
    const endedAtMonotonic = clock.monotonic();
    this.nextAtMonotonic = endedAtMonotonic + (endedAtMonotonic - startedAtMonotonic) / maxShare;
    return this.limited;
  }

  /** Counts all emptyDirs. When the signal is aborted, leaves out those not yet counted. */
  ofAll(signal: AbortSignal): Promise<VolumesByPod> {
    return this.measure(allOnDisk, signal);
  }

  private async measure(volumesOf: (pod: Pod) => Counted[], signal?: AbortSignal): Promise<VolumesByPod> {
    const measured = new Map<string, readonly VolumeStats[]>();
    for (const pod of this.deps.pods()) {
      const volumes = await this.measurePod(pod, volumesOf(pod), signal);
      if (volumes.length > 0) measured.set(pod.metadata.uid, volumes);
    }
    return measured;
  }

  private async measurePod(pod: Pod, volumes: Counted[], signal?: AbortSignal): Promise<VolumeStats[]> {
    const { volumeManager, clock, maxNames, logger } = this.deps;
    const measured: VolumeStats[] = [];
    const isOver = (): boolean => signal?.aborted === true;
    for (const { name, enoughBytes } of volumes) {
      if (isOver()) break;
      try {
        const path = volumeManager.emptyDirPath(pod.metadata.uid, name);
        const usage = await treeUsage(
          path,
          (counted) => isOver() || (enoughBytes !== undefined && counted.bytes > enoughBytes),
          { maxNames },
        );
        if (isOver()) break;
        const time = new Date(clock.now()).toISOString();
        const before = this.limited.get(pod.metadata.uid)?.find((volume) => volume.name === name);
        measured.push({ name, time, ...usedDisk(usage, before) });
      } catch (error) {
        // The volume is not set up yet, or was removed with its pod.
        if (hasCode(error, 'ENOENT')) continue;
        logger.warn({ err: errorMessage(error), pod: formatPod(pod), volume: name }, 'Measuring a volume failed');
      }
    }
    return measured;
  }
}

/** Returns the emptyDirs whose limit only we enforce. The kernel enforces the limits of those in memory. */
function limitedOnDisk(pod: Pod): Counted[] {
  return onDisk(pod).flatMap((volume) => {
    const limited = limitedEmptyDir(volume);
    return limited === undefined ? [] : [{ name: volume.name, enoughBytes: limited.limitBytes }];
  });
}

function allOnDisk(pod: Pod): Counted[] {
  return onDisk(pod).map(({ name }) => ({ name, enoughBytes: undefined }));
}

function onDisk({ spec }: Pod): Volume[] {
  return (spec.volumes ?? []).filter(({ emptyDir }) => emptyDir !== undefined && emptyDir.medium !== 'Memory');
}
