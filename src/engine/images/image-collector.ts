import type { Pod } from '../../api/types.ts';
import { formatDurationMs } from '../../api/values/duration.ts';
import type { Clock } from '../../clock.ts';
import type { ImageService } from '../../cri/image-service.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import type { Image } from '../../cri/types.ts';
import { errorMessage } from '../../errors.ts';
import { untilTick } from '../../flow/ticks.ts';
import type { Logger } from '../../logger.ts';
import type { FilesystemSize } from '../host/filesystem-size.ts';
import type { Emit } from '../view/event-bus.ts';
import type { Meter } from '../view/meter.ts';
import { reasons } from '../view/reasons.ts';
import type { PullRecords } from './pull-records.ts';
import { runtimeSetting } from './content-store.ts';
import {
  computeImageGC,
  type ImageGCPlan,
  type ImageGCPolicy,
  type ImageRecord,
  isTooOld,
  unusedImages,
  usagePercent,
} from './image-gc.ts';
import { declaredImageKeys, imageKey, imageKeys, usedImageKeys } from './image-keys.ts';

/** kubelet: kubelet.go ImageGCPeriod */
const periodMs = 300_000;

interface Deps {
  runtime: RuntimeService;
  imageService: ImageService;
  policy: ImageGCPolicy;
  /** Declared and terminating pods. Their images are kept. */
  pods: () => readonly Pod[];
  /** Other images to keep, such as those from archives. */
  keptImages: readonly string[];
  pullRecords?: Pick<PullRecords, 'prune'> | undefined;
  /** Returns the size and free space of the file system at a path. */
  readFilesystem: (path: string) => Promise<FilesystemSize>;
  clock: Clock;
  emit: Emit;
  meter?: Pick<Meter, 'count'> | undefined;
  logger: Logger;
}

/** State of one collection. */
interface Removal {
  /** Why the image is removed, for its event. */
  because: (image: ImageRecord) => string;
  /** True if it is removed because of its age, not for space. */
  isOld: (image: ImageRecord) => boolean;
  /** Names of each image by id. */
  names: ReadonlyMap<string, string[]>;
  freedBytes: bigint;
  /** Ids of images that could not be removed. */
  stayed: Set<string>;
  errors: string[];
}

/**
 * Removes unused images that are too old, and on a full disk the least recently used ones. Keeps images of declared
 * pods, containers in any state and sandboxes, and images that the runtime pins. kubelet: images/image_gc_manager.go
 * realImageGCManager
 */
export class ImageCollector {
  private readonly startedAtMonotonic: number;
  private records: readonly ImageRecord[] = [];
  private failedBefore = false;

  constructor(private readonly deps: Deps) {
    this.startedAtMonotonic = deps.clock.monotonic();
  }

  /**
   * Lists the images at once. Then collects every five minutes, once the sources have been read, until the signal is
   * aborted.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { policy, clock, logger } = this.deps;
    if (policy.highThresholdPercent === 100 && policy.maxAgeMs === 0) return;
    // Treats the present images as old enough, because their age is unknown.
    await this.detectImages(signal, this.startedAtMonotonic - policy.minAgeMs).catch((error: unknown) => {
      logger.warn({ err: errorMessage(error) }, 'Listing the images failed');
    });
    const passed = (): Promise<boolean> =>
      clock.sleep(untilTick(clock, periodMs), { signal }).then(
        () => true,
        () => false,
      );
    while (await passed()) await this.collect(signal);
  }

  /**
   * Removes every unused image that has the minimum age. Rejects if any could not be removed. kubelet:
   * images/image_gc_manager.go DeleteUnusedImages
   */
  async deleteUnusedImages(signal: AbortSignal): Promise<void> {
    const { policy, clock } = this.deps;
    const names = await this.detectImages(signal, clock.monotonic());
    const because = (): string => 'the node runs short of disk space';
    const removal: Removal = { because, isOld: () => false, names, freedBytes: 0n, stayed: new Set(), errors: [] };
    for (const image of unusedImages(this.records, policy, clock.monotonic())) {
      await this.removeImage(image, removal, signal);
    }
    if (removal.errors.length > 0) throw new Error(`errors in image deletion: ${removal.errors.join(', ')}`);
  }

  /** kubelet: kubelet.go StartGarbageCollection */
  private async collect(signal: AbortSignal): Promise<void> {
    const { emit, logger } = this.deps;
    try {
      await this.collectOnce(signal);
      this.failedBefore = false;
    } catch (error) {
      if (signal.aborted) return;
      const message = errorMessage(error);
      // The kubelet does not emit an event for the first failure.
      if (this.failedBefore) emit({ type: 'Recorded', eventType: 'Warning', reason: reasons.imageGCFailed, message });
      else logger.error({ err: message }, 'Collecting unused images failed');
      this.failedBefore = true;
    }
  }

  /**
   * Collects once. If an image cannot be removed, continues with the next one. Rejects if a removal failed or too
   * little was freed.
   */
  private async collectOnce(signal: AbortSignal): Promise<void> {
    const { policy, clock } = this.deps;
    const filesystem = await this.imageFilesystem(signal);
    const listedAtMonotonic = clock.monotonic();
    const names = await this.detectImages(signal, listedAtMonotonic);
    const time = { nowMonotonic: clock.monotonic(), startedAtMonotonic: this.startedAtMonotonic };
    const isOld = (image: ImageRecord): boolean => isTooOld(image, policy, time);
    const because = (image: ImageRecord): string =>
      isOld(image)
        ? `unused for longer than ${formatDurationMs(policy.maxAgeMs)}`
        : `the disk of images is ${String(usagePercent(filesystem))} % full`;
    const removal: Removal = { because, isOld, names, freedBytes: 0n, stayed: new Set(), errors: [] };
    const plan = (): ImageGCPlan => {
      const candidates = this.records.filter(({ id }) => !removal.stayed.has(id));
      const availableBytes = filesystem.availableBytes + removal.freedBytes;
      return computeImageGC(candidates, { ...filesystem, availableBytes }, policy, time);
    };
    const first = plan();
    let last = first;
    for (let staying = -1; staying !== removal.stayed.size; last = plan()) {
      staying = removal.stayed.size;
      for (const image of last.imagesToRemove) await this.removeImage(image, removal, signal);
    }
    const left = this.records.flatMap(({ id }): [string, string[]][] => [[id, names.get(id) ?? []]]);
    await this.deps.pullRecords?.prune(new Map(left), listedAtMonotonic);
    this.reportOutcome({ ...last, bytesToFree: first.bytesToFree ?? 0n }, removal, filesystem);
  }

  private async removeImage(image: ImageRecord, removal: Removal, signal: AbortSignal): Promise<void> {
    const { imageService, emit } = this.deps;
    const { id, sizeBytes } = image;
    signal.throwIfAborted();
    const names = removal.names.get(id) ?? [];
    // A pod with this image may have been declared in the meantime.
    if (this.isDeclared(names)) {
      removal.stayed.add(id);
      return;
    }
    try {
      await imageService.removeImage({ image: { image: id } }, { signal });
      removal.freedBytes += sizeBytes;
      this.records = this.records.filter((record) => record.id !== id);
      this.deps.meter?.count('kubelet_image_garbage_collected_total', {
        reason: removal.isOld(image) ? 'age' : 'space',
      });
      const name = names.find((candidate) => candidate !== id) ?? id;
      const message = `Removed image "${name}" (${(Number(sizeBytes) / 1e6).toFixed(1)} MB), which nothing uses: ${removal.because(image)}`;
      emit({ type: 'Recorded', eventType: 'Normal', reason: reasons.imageRemoved, message });
    } catch (error) {
      signal.throwIfAborted();
      removal.stayed.add(id);
      removal.errors.push(errorMessage(error));
    }
  }

  private reportOutcome(
    { failure, bytesToFree = 0n }: ImageGCPlan,
    { freedBytes, errors }: Removal,
    filesystem: FilesystemSize,
  ): void {
    const { emit } = this.deps;
    if (errors.length > 0) {
      const outcome = `wanted to free ${bytesToFree.toString()} bytes, but freed ${freedBytes.toString()} bytes space`;
      throw new Error(`${outcome} with errors in image deletion: ${errors.join(', ')}`);
    }
    if (failure === undefined) return;
    const message =
      failure === 'InvalidDiskCapacity'
        ? 'invalid capacity 0 on image filesystem'
        : `The image filesystem is ${usagePercent(filesystem)}% full (capacity ${filesystem.capacityBytes.toString()} bytes), ` +
          `and removing unused images freed only ${freedBytes.toString()} of ${bytesToFree.toString()} bytes`;
    const reason = failure === 'InvalidDiskCapacity' ? reasons.invalidDiskCapacity : reasons.freeDiskSpaceFailed;
    emit({ type: 'Recorded', eventType: 'Warning', reason, message });
    throw new Error(message);
  }

  /** Updates the records. Resolves with the names of each image by id. */
  private async detectImages(signal: AbortSignal, detectedAtMonotonic: number): Promise<ReadonlyMap<string, string[]>> {
    const { runtime, imageService, keptImages, clock } = this.deps;
    const [{ images }, { containers }, sandboxImage] = await Promise.all([
      imageService.listImages({}, { signal }),
      runtime.listContainers({}, { signal }),
      runtimeSetting(runtime, 'sandboxImage'),
    ]);
    for (const image of images.filter(({ id }) => id === '')) {
      const message = `The container runtime lists an image without an id: ${imageKeys(image)
        .filter((key) => key !== '')
        .join(', ')}`;
      this.deps.emit({ type: 'Recorded', eventType: 'Warning', reason: reasons.invalidImageID, message });
    }
    const used = usedImageKeys(containers);
    // Some runtimes do not pin these.
    const kept = [...keptImages, ...(sandboxImage === undefined ? [] : [sandboxImage])];
    for (const image of kept) used.add(imageKey(image));
    const isUsed = (keys: readonly string[]): boolean => keys.some((key) => used.has(key)) || this.isDeclared(keys);
    this.records = nextImageRecords(this.records, images, isUsed, {
      nowMonotonic: clock.monotonic(),
      detectedAtMonotonic,
    });
    return new Map(images.map((image) => [image.id, imageKeys(image)]));
  }

  private isDeclared(keys: readonly string[]): boolean {
    const declared = declaredImageKeys(this.deps.pods());
    return keys.some((key) => declared.has(key));
  }

  private async imageFilesystem(signal: AbortSignal): Promise<FilesystemSize> {
    const { imageFilesystems } = await this.deps.imageService.imageFsInfo({}, { signal });
    const mountpoint = imageFilesystems[0]?.fsId?.mountpoint ?? '';
    if (mountpoint === '') throw new Error('the runtime does not report where its images are');
    return this.deps.readFilesystem(mountpoint);
  }
}

/**
 * Returns the records after the images were listed. New images get `detectedAtMonotonic` as their first detection.
 * kubelet: images/image_gc_manager.go detectImages
 */
function nextImageRecords(
  records: readonly ImageRecord[],
  images: readonly Image[],
  isUsed: (keys: readonly string[]) => boolean,
  { nowMonotonic, detectedAtMonotonic }: { nowMonotonic: number; detectedAtMonotonic: number },
): ImageRecord[] {
  const known = new Map(records.map((record) => [record.id, record]));
  return images.map((image) => {
    const { id, size: sizeBytes, pinned } = image;
    const inUse = isUsed(imageKeys(image));
    const { firstDetectedAtMonotonic = detectedAtMonotonic, lastUsedAtMonotonic = 0 } = known.get(id) ?? {};
    return {
      id,
      sizeBytes,
      pinned,
      inUse,
      firstDetectedAtMonotonic,
      lastUsedAtMonotonic: inUse ? nowMonotonic : lastUsedAtMonotonic,
    };
  });
}
