import type { Pod } from '../../api/types.ts';
import { formatPod } from '../../api/values/pod-names.ts';
import { formatQuantity, quantityValue, toQuantity } from '../../api/values/quantity.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { diskUsage } from '../volumes/disk-usage.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';

/** kubelet: eviction/eviction_manager.go monitoringInterval */
const periodMs = 10_000;
/** Largest share of time spent on measuring, because large volumes take long. */
const maxShare = 0.01;

interface Deps {
  /** Pods at work that are not terminating. */
  pods: () => Pod[];
  volumeManager: Pick<VolumeManager, 'emptyDirPath'>;
  evict: (pod: Pod, message: string) => void;
  clock: Clock;
  logger: Logger;
}

/**
 * Evicts pods that exceed the sizeLimit of an emptyDir on disk. Measures only volumes with a limit, every ten seconds,
 * or less often if that takes long. kubelet: eviction/eviction_manager.go localStorageEviction
 */
export class LocalStorageEviction {
  private readonly deps: Deps;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, pods } = this.deps;
    for (let waitMs = periodMs; ;) {
      await clock.sleep(waitMs, { signal });
      const startedAtMonotonic = clock.monotonic();
      for (const pod of pods()) await this.check(pod);
      waitMs = Math.max(periodMs, (clock.monotonic() - startedAtMonotonic) / maxShare);
    }
  }

  private async check(pod: Pod): Promise<void> {
    const { volumeManager, evict, logger } = this.deps;
    for (const volume of limitedEmptyDirs(pod)) {
      try {
        const usedBytes = await diskUsage(volumeManager.emptyDirPath(pod.metadata.uid, volume.name), volume.limitBytes);
        if (usedBytes <= volume.limitBytes) continue;
        evict(pod, emptyDirEvictionMessage(volume));
        return;
      } catch (error) {
        // The volume is not set up yet, or was removed with its pod.
        if (hasCode(error, 'ENOENT')) continue;
        logger.warn(
          { err: errorMessage(error), pod: formatPod(pod), volume: volume.name },
          'Measuring a volume failed',
        );
      }
    }
  }
}

/** An emptyDir on disk with a size limit. */
interface LimitedEmptyDir {
  name: string;
  /** As written, in canonical form. */
  sizeLimit: string;
  limitBytes: bigint;
}

/** The emptyDirs with a limit that only we enforce. The kernel limits those in memory. */
function limitedEmptyDirs({ spec }: Pod): LimitedEmptyDir[] {
  return (spec.volumes ?? []).flatMap(({ name, emptyDir }) => {
    if (emptyDir === undefined || emptyDir.medium === 'Memory') return [];
    const quantity = toQuantity(emptyDir.sizeLimit);
    const limitBytes = quantityValue(quantity);
    return limitBytes > 0n ? [{ name, sizeLimit: formatQuantity(quantity), limitBytes }] : [];
  });
}

/** The eviction message for an emptyDir beyond its limit. kubelet: eviction/helpers.go emptyDirMessageFmt */
function emptyDirEvictionMessage({ name, sizeLimit }: LimitedEmptyDir): string {
  return `Usage of EmptyDir volume "${name}" exceeds the limit "${sizeLimit}". `;
}
