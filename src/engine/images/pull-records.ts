import { join } from 'node:path';
import type { PullVerification } from '../../api/values/pull-verification.ts';
import type { Clock } from '../../clock.ts';
import type { Image } from '../../cri/types.ts';
import { errorMessage } from '../../errors.ts';
import { SerialQueue } from '../../flow/serial-queue.ts';
import type { Logger } from '../../logger.ts';
import type { Meter } from '../view/meter.ts';
import { computeImageAccess, type ImageAccess, repositoryOf } from './image-access.ts';
import { imageKey } from './image-keys.ts';
import {
  formatIntent,
  formatRecord,
  type ImagePullCredentials,
  type ImagePulledRecord,
  type ImagePullSecret,
  parseIntent,
  parseRecord,
  recordFileName,
  withCredentials,
} from './pull-record.ts';
import { RecordFolder } from './record-folder.ts';

interface Deps {
  rootDir: string;
  verification: PullVerification;
  /** Images that the agent loaded from archives. */
  loadedImages: readonly string[];
  clock: Pick<Clock, 'now' | 'monotonic'>;
  meter?: Pick<Meter, 'count' | 'set'> | undefined;
  logger: Logger;
}

/** A pull that began and did not end yet, or was interrupted. */
interface Intent {
  /** Undefined if its file is damaged. */
  image: string | undefined;
  /** How many pulls of the image are in progress. */
  inProgress: number;
  /** True if an earlier pull was interrupted, or could not be recorded: it is unknown who may use the image. */
  isLeftOver: boolean;
  beganAtMonotonic: number;
}

interface Known {
  record: ImagePulledRecord | 'unknown';
  changedAtMonotonic: number;
  /** False if the file lacks it, for example because the disk is full. */
  isOnDisk: boolean;
}

/**
 * Who may use the images that the agent pulled, in `<root-dir>/image_manager`: one file per pull in progress in
 * `pulling/`, one per image in `pulled/`. kubelet: images/pullmanager/image_pull_manager.go
 *
 * INVARIANTS: an intent is on the disk before its pull begins, and stays until the record of the pull is. So if the
 * agent or the machine dies, an image is never taken for a preloaded one. In memory, both are complete once `load`
 * resolved.
 */
export class PullRecords {
  private readonly pulledFolder: RecordFolder<ImagePulledRecord>;
  private readonly pullingFolder: RecordFolder<string>;
  /** By file name. */
  private readonly pulled = new Map<string, Known>();
  private readonly pulling = new Map<string, Intent>();
  private readonly changes = new SerialQueue();
  private readonly loadedKeys: ReadonlySet<string>;

  constructor(private readonly deps: Deps) {
    const folder = join(deps.rootDir, 'image_manager');
    this.pulledFolder = new RecordFolder({ path: join(folder, 'pulled'), parse: parseRecord, logger: deps.logger });
    this.pullingFolder = new RecordFolder({ path: join(folder, 'pulling'), parse: parseIntent, logger: deps.logger });
    this.loadedKeys = new Set(deps.loadedImages.map(imageKey));
  }

  /** Loads the records of an earlier agent. Rejects if they cannot be read now. */
  async load(): Promise<void> {
    const [pulled, pulling] = await Promise.all([this.pulledFolder.load(), this.pullingFolder.load()]);
    for (const [name, record] of pulled)
      this.pulled.set(name, { record, changedAtMonotonic: -Infinity, isOnDisk: true });
    for (const [name, content] of pulling) {
      const image = content === 'unknown' ? undefined : content;
      this.pulling.set(name, { image, inProgress: 0, isLeftOver: true, beganAtMonotonic: -Infinity });
    }
    this.measure();
  }

  /** Decides whether a pod with these Secrets may use a present image by this name. */
  access(image: string, { id, repoTags, repoDigests }: Image, secrets: readonly ImagePullSecret[]): ImageAccess {
    const { verification, meter } = this.deps;
    const intents = [...this.pulling.values()].flatMap((intent) => intent.image ?? []);
    const access = computeImageAccess(
      {
        image,
        names: [...repoTags, ...repoDigests].map(imageKey),
        isLoaded: this.loadedKeys.has(imageKey(image)),
        record: this.pulled.get(recordFileName(id))?.record,
        pulling: this.pulling.has(recordFileName(image)) ? [...intents, image] : intents,
        secrets,
      },
      verification,
    );
    meter?.count('kubelet_imagemanager_image_mustpull_checks_total', { result: access.result });
    if (access.result === 'credentialRecordFound' && access.newSecret !== undefined) {
      void this.record(image, id, ofSecret(access.newSecret)).catch((error: unknown) => {
        this.warn(image, error);
      });
    }
    return access;
  }

  /** A pull begins. Rejects if that cannot be recorded; then it must not begin. */
  async pullBegins(image: string): Promise<void> {
    const { clock } = this.deps;
    const name = recordFileName(image);
    const known = this.pulling.get(name);
    const { inProgress = 0, isLeftOver = false } = known ?? {};
    const intent = { image, inProgress: inProgress + 1, isLeftOver, beganAtMonotonic: clock.monotonic() };
    this.pulling.set(name, intent);
    this.measure();
    try {
      await this.changes.run(() => this.pullingFolder.write(name, formatIntent(image)));
    } catch (error) {
      await this.pullFailed(image);
      throw new Error(`recording the pull failed: ${errorMessage(error)}`, { cause: error });
    }
  }

  /** A pull failed. The image of an interrupted one may be present. Never rejects. */
  async pullFailed(image: string): Promise<void> {
    await this.pullEnds(image, (intent) => intent.isLeftOver);
  }

  /**
   * An image was pulled with the credentials of a Secret, or without it with those of the node or none. Resolves once
   * that would survive a power cut. Never rejects: if it cannot be recorded, the next agent has it pulled again.
   */
  async pullSucceeded(image: string, imageRef: string, secret: ImagePullSecret | undefined): Promise<void> {
    const credentials = secret === undefined ? ofNode : ofSecret(secret);
    try {
      await this.record(image, imageRef, credentials);
      await this.pullEnds(image, () => false);
    } catch (error) {
      this.warn(image, error);
      const intent = this.pulling.get(recordFileName(image));
      if (intent !== undefined) intent.isLeftOver = true;
      await this.pullFailed(image);
    }
  }

  /**
   * Removes records of images that are gone. Images of interrupted pulls get a record that gives access to nobody.
   * `names` are all names of the images by id, listed at a time; later records are kept. Never rejects.
   */
  async prune(names: ReadonlyMap<string, readonly string[]>, listedAtMonotonic: number): Promise<void> {
    const present = new Set([...names.keys()].map(recordFileName));
    for (const [name, { changedAtMonotonic }] of this.pulled) {
      if (present.has(name) || changedAtMonotonic >= listedAtMonotonic) continue;
      this.pulled.delete(name);
      await this.remove(this.pulledFolder, name);
    }
    for (const { image, inProgress, isLeftOver, beganAtMonotonic } of [...this.pulling.values()]) {
      if (image === undefined || inProgress > 0 || !isLeftOver || beganAtMonotonic >= listedAtMonotonic) continue;
      const ids = [...names].filter(([, keys]) => keys.includes(imageKey(image))).map(([id]) => id);
      try {
        for (const id of ids) await this.record(image, id, ofNobody);
        await this.pullEnds(image, () => false);
      } catch (error) {
        this.warn(image, error);
      }
    }
    this.measure();
  }

  /** Resolves once all changes are on the disk. */
  async close(): Promise<void> {
    await this.changes.run(() => Promise.resolve());
  }

  /** Changes the record in memory at once, then on the disk. */
  private async record(image: string, imageRef: string, credentials: ImagePullCredentials): Promise<void> {
    const { clock } = this.deps;
    const name = recordFileName(imageRef);
    const known = this.pulled.get(name);
    const before = known === undefined || known.record === 'unknown' ? emptyRecord(imageRef) : known.record;
    const record = withCredentials(before, repositoryOf(image), credentials);
    if (record === before && known?.isOnDisk === true) return;
    const changed: Known = { record, changedAtMonotonic: clock.monotonic(), isOnDisk: false };
    this.pulled.set(name, changed);
    this.measure();
    await this.changes.run(async () => {
      // A later change contains this one.
      if (this.pulled.get(name) !== changed) return;
      await this.pulledFolder.write(name, formatRecord(record, clock.now()));
      changed.isOnDisk = true;
    });
  }

  private async pullEnds(image: string, keeps: (intent: Intent) => boolean): Promise<void> {
    const name = recordFileName(image);
    const intent = this.pulling.get(name);
    if (intent === undefined) return;
    intent.inProgress = Math.max(0, intent.inProgress - 1);
    if (keeps(intent) || intent.inProgress > 0) return;
    this.pulling.delete(name);
    this.measure();
    await this.remove(this.pullingFolder, name);
  }

  /** A later change writes the file again. */
  private async remove<T>(folder: RecordFolder<T>, name: string): Promise<void> {
    await this.changes
      .run(() => folder.remove(name))
      .catch((error: unknown) => {
        // The next start or collection of images tries again.
        this.deps.logger.warn({ err: errorMessage(error) }, 'Removing the record of an image pull failed');
      });
  }

  private measure(): void {
    this.deps.meter?.set('kubelet_imagemanager_ondisk_pulledrecords', this.pulled.size);
    this.deps.meter?.set('kubelet_imagemanager_ondisk_pullintents', this.pulling.size);
  }

  private warn(image: string, error: unknown): void {
    const message = 'Recording an image pull failed; after a restart of the agent, the image is pulled again';
    this.deps.logger.warn({ image, err: errorMessage(error) }, message);
  }
}

const emptyRecord = (imageRef: string): ImagePulledRecord => ({ imageRef, credentialMapping: new Map() });
const ofSecret = (secret: ImagePullSecret): ImagePullCredentials => ({
  kubernetesSecrets: [secret],
  nodePodsAccessible: false,
});
const ofNode: ImagePullCredentials = { kubernetesSecrets: [], nodePodsAccessible: true };
const ofNobody: ImagePullCredentials = { kubernetesSecrets: [], nodePodsAccessible: false };
