import pLimit from 'p-limit';
import type { Container, Pod } from '../../api/types.ts';
import { pullReference } from '../../api/values/image-name.ts';
import type { PullVerification } from '../../api/values/pull-verification.ts';
import type { Clock } from '../../clock.ts';
import type { ImageService } from '../../cri/image-service.ts';
import type { Image, PodSandboxConfig } from '../../cri/types.ts';
import { errorMessage } from '../../errors.ts';
import type { BackOff } from '../../flow/back-off.ts';
import { TokenBucket } from '../../flow/token-bucket.ts';
import { unlessAborted } from '../../flow/unless-aborted.ts';
import { ContainerStartError } from '../container/container-start-error.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import type { Meter } from '../view/meter.ts';
import { reasons } from '../view/reasons.ts';
import type { ImageGCPolicy } from './image-gc.ts';
import { imageKey } from './image-keys.ts';
import { neededImages } from './needed-images.ts';
import type { PullCredentials, PullLogin } from './pull-credentials.ts';
import type { ImagePullSecret } from './pull-record.ts';
import type { PullRecords } from './pull-records.ts';
import type { PullWatch } from './pull-watch.ts';
import { pullWithEach } from './pull-with-each.ts';
import { type PullProgress, unlessStalled } from './stalled-pull.ts';

interface Deps {
  imageService: Pick<ImageService, 'imageStatus' | 'pullImage'>;
  backOff: BackOff;
  clock: Clock;
  settings: ImageSettings;
  pullProgress: PullProgress;
  pullWatch: PullWatch;
  credentials: Pick<PullCredentials, 'of' | 'secretsOf'>;
  /** Undefined if every pod may use every present image. */
  pullRecords?: Pick<PullRecords, 'access' | 'pullBegins' | 'pullFailed' | 'pullSucceeded'> | undefined;
  meter?: Pick<Meter, 'observe' | 'count'> | undefined;
}

/** A request for the image of a container that will be created. */
export interface PullRequest {
  pod: Pod;
  container: Container;
  /** The pod's container if `container` stands for an image volume. */
  owner?: Container;
  sandboxConfig: PodSandboxConfig;
  recorder: PodEventRecorder;
  signal: AbortSignal;
  /** What `askAhead` returned. */
  askedImages?: AskedImages | undefined;
}

/** Answers about images by name. Each is used once, because the state may be different for a later container. */
export type AskedImages = Map<string, Promise<Image | undefined>>;

/**
 * Makes sure that the image of a container is present before the container is created. kubelet: images/image_manager.go
 */
export class ImageManager {
  private readonly pulls: ReturnType<typeof pLimit>;
  private readonly rate: TokenBucket;
  /** Last pull failure by back-off key, shown while the pull backs off. */
  private readonly lastFailures = new Map<string, string>();
  /** By name, images that were pulled before their container could start. */
  private readonly prepulled = new WeakMap<Container, Map<string, Image>>();

  constructor(private readonly deps: Deps) {
    const { settings, clock } = deps;
    this.pulls = pLimit(settings.maxParallelPulls);
    this.rate = new TokenBucket({ perSecond: settings.registryPullQPS, burst: settings.registryBurst, clock });
  }

  /**
   * Resolves with the image as the runtime identifies it. Rejects with a `ContainerStartError` that has the waiting
   * reason.
   */
  async ensureImageExists(request: PullRequest): Promise<Image> {
    const { container, owner = container, recorder } = request;
    const image = withDefaultTag(container.image ?? '', recorder);
    const prepulled = this.prepulled.get(owner);
    const pulled = prepulled?.get(image);
    if (pulled !== undefined) {
      prepulled?.delete(image);
      return pulled;
    }
    const present = await this.presentImage(image, request);
    const isUsable = present !== undefined && this.mayUse(present, image, request);
    this.countRequest(container, present !== undefined, isUsable);
    if (isUsable) {
      const message = `Container image "${image}" already present on machine`;
      const ending = this.deps.pullRecords === undefined ? '' : ' and can be accessed by the pod';
      recorder.normal(reasons.pulled, message + ending, container.name);
      return present;
    }
    const isRefused = present !== undefined;
    if (this.deps.settings.isOffline) return this.refusePull(image, request, isRefused);
    if (container.imagePullPolicy === 'Never') {
      const message = `Container image "${image}" is not present with pull policy of Never`;
      if (isRefused)
        recorder.warning(reasons.errImageNeverPull, message, container.name, credentialsHint, 'imageCredentials');
      else recorder.warning(reasons.errImageNeverPull, message, container.name, loadHint);
      throw new ContainerStartError(reasons.errImageNeverPull, message);
    }
    return this.pull(image, request, isRefused);
  }

  /** Requests the status of the image of a container that is about to start, so that its start need not wait for it. */
  requestStatus({ image = '', ...container }: Container, signal: AbortSignal): AskedImages {
    const name = this.isPulledAlways(container) ? undefined : pullReference(image);
    if (name === undefined) return new Map();
    const asked = this.imageStatus(name, signal);
    // The start reports a failure.
    asked.catch(() => undefined);
    return new Map([[name, asked]]);
  }

  /**
   * Pulls the missing image of a container that cannot start yet. With the policy Always, this replaces the pull when
   * it starts. Rejects like `ensureImageExists`.
   */
  async prepull(request: PullRequest): Promise<void> {
    const { container, owner = container, recorder } = request;
    const image = withDefaultTag(container.image ?? '', recorder);
    if (this.isPulledAlways(container)) {
      const pulled = await this.ensureImageExists(request);
      const others = this.prepulled.get(owner) ?? [];
      this.prepulled.set(owner, new Map([...others, [image, pulled]]));
      return;
    }
    const present = await this.presentImage(image, request);
    if (present === undefined || !this.mayUse(present, image, request)) await this.ensureImageExists(request);
  }

  /** Clears the failed pulls of this pod, so that the next one begins at once. */
  retry(podUID: string): void {
    this.deps.backOff.resetAll(`${podUID}_`);
  }

  /** Drops failures whose back-off expired without another request. */
  clearFailures(): void {
    this.deps.backOff.gc();
    for (const key of this.lastFailures.keys()) if (this.deps.backOff.get(key) === 0) this.lastFailures.delete(key);
  }

  /** Counts the image of a volume that a container mounts, and whether it is there. */
  async forVolume(pull: Promise<Image>): Promise<Image> {
    const { meter } = this.deps;
    meter?.count('kubelet_image_volume_requested_total', {});
    try {
      const image = await pull;
      meter?.count('kubelet_image_volume_mounted_succeed_total', {});
      return image;
    } catch (error) {
      meter?.count('kubelet_image_volume_mounted_errors_total', {});
      throw error;
    }
  }

  /** Whether a pulled image was present is not asked with the policy Always. */
  private countRequest(container: Container, isPresent: boolean, isUsable: boolean): void {
    const isAlways = this.isPulledAlways(container);
    const policy = container.imagePullPolicy ?? 'IfNotPresent';
    this.deps.meter?.count('kubelet_image_manager_ensure_image_requests_total', {
      pull_policy: policy.toLowerCase(),
      present_locally: isAlways ? 'unknown' : String(isPresent),
      pull_required: String(isAlways || (!isUsable && policy !== 'Never')),
    });
  }

  /** Offline, a present image satisfies the policy Always. */
  private isPulledAlways({ imagePullPolicy }: Container): boolean {
    return imagePullPolicy === 'Always' && !this.deps.settings.isOffline;
  }

  /** False if the image must be pulled again, to verify the pod's credentials for it. */
  private mayUse(present: Image, image: string, { pod }: PullRequest): boolean {
    const { pullRecords, credentials } = this.deps;
    if (pullRecords === undefined) return true;
    return pullRecords.access(image, present, credentials.secretsOf(image, pod)).result !== 'mustAuthenticate';
  }

  /** Rejects and names all missing images of the pod, so that the user can load them all at once. */
  private async refusePull(image: string, request: PullRequest, isRefused: boolean): Promise<never> {
    const { pod, container, recorder, signal } = request;
    if (isRefused) {
      const message = `Container image "${image}" is present, but this node is offline and cannot verify that the pod may use it`;
      recorder.warning(reasons.errImageNeverPull, message, container.name, credentialsHint, 'imageCredentials');
      throw new ContainerStartError(reasons.errImageNeverPull, message);
    }
    const others = neededImages([pod]).filter((needed) => imageKey(needed.image) !== imageKey(image));
    const found = await Promise.all(
      others.map(async (needed) => ((await this.isPresent(needed.image, signal)) ? [] : [needed.image])),
    );
    const missing = found.flat();
    const also = missing.length === 0 ? '' : `. The pod also lacks: ${missing.join(', ')}`;
    const message = `Container image "${image}" is not present, and this node is offline${also}`;
    recorder.warning(reasons.errImageNeverPull, message, container.name, offlineHint);
    throw new ContainerStartError(reasons.errImageNeverPull, message);
  }

  /** False also for an invalid name. */
  private async isPresent(image: string, signal: AbortSignal): Promise<boolean> {
    const reference = pullReference(image);
    return reference !== undefined && (await this.imageStatus(reference, signal).catch(() => undefined)) !== undefined;
  }

  private async presentImage(image: string, request: PullRequest): Promise<Image | undefined> {
    const { container, recorder, signal, askedImages } = request;
    if (this.isPulledAlways(container)) return undefined;
    try {
      const asked = askedImages?.get(image);
      askedImages?.delete(image);
      return await (asked ?? this.imageStatus(image, signal));
    } catch (error) {
      signal.throwIfAborted();
      const message = `Failed to inspect image "${image}": ${errorMessage(error)}`;
      recorder.warning(reasons.inspectFailed, message, container.name);
      throw new ContainerStartError(reasons.imageInspectError, message, { cause: error });
    }
  }

  private async imageStatus(image: string, signal: AbortSignal): Promise<Image | undefined> {
    const { image: found } = await this.deps.imageService.imageStatus({ image: { image } }, { signal });
    return found === undefined || found.id === '' ? undefined : found;
  }

  private async pull(image: string, request: PullRequest, isRefused: boolean): Promise<Image> {
    const { pod, container, recorder } = request;
    const { backOff, clock } = this.deps;
    const key = `${pod.metadata.uid}_${container.image ?? ''}`;
    if (backOff.isInBackOffSinceUpdate(key, clock.monotonic())) {
      const message = `Back-off pulling image "${image}"`;
      recorder.normal(reasons.backOff, message, container.name);
      const last = this.lastFailures.get(key);
      throw new ContainerStartError(reasons.imagePullBackOff, last === undefined ? message : `${message}: ${last}`, {
        retryAtMonotonic: backOff.backOffUntilSinceUpdate(key) ?? clock.monotonic(),
      });
    }
    try {
      const pulled = await this.pullNow(image, request);
      this.lastFailures.delete(key);
      return pulled;
    } catch (error) {
      request.signal.throwIfAborted();
      const failure = pullFailure(error);
      const message = `Failed to pull image "${image}": ${failure.message}`;
      if (isRefused) recorder.warning(reasons.failed, message, container.name, credentialsHint, 'imageCredentials');
      else recorder.warning(reasons.failed, message, container.name, loadHint, 'imagePull');
      backOff.next(key, clock.monotonic());
      this.lastFailures.set(key, `${failure.reason}: ${failure.message}`);
      throw failure;
    }
  }

  private pullNow(image: string, request: PullRequest): Promise<Image> {
    const { container, recorder, signal } = request;
    const { clock, meter, pullRecords } = this.deps;
    recorder.normal(reasons.pulling, `Pulling image "${image}"`, container.name);
    const waitedSinceMonotonic = clock.monotonic();
    const pulling = this.pulls(async () => {
      signal.throwIfAborted();
      if (!this.rate.tryAcquire()) throw new Error('pull QPS exceeded');
      const recordedName = container.image ?? image;
      await pullRecords?.pullBegins(recordedName);
      const startedAtMonotonic = clock.monotonic();
      const { imageRef, secret } = await this.pullImage(image, request).catch(async (error: unknown) => {
        await pullRecords?.pullFailed(recordedName);
        throw error;
      });
      const endedAtMonotonic = clock.monotonic();
      // The image was pulled, so it does not matter if inspecting it fails.
      const found = await this.imageStatus(imageRef, signal).catch(() => undefined);
      await pullRecords?.pullSucceeded(recordedName, found?.id ?? imageRef, secret);
      signal.throwIfAborted();
      const size = found?.size ?? 0n;
      const pulledSeconds = (endedAtMonotonic - startedAtMonotonic) / 1000;
      meter?.observe('kubelet_image_pull_duration_seconds', pulledSeconds, { image_size_in_bytes: sizeLabel(size) });
      recorder.normal(
        reasons.pulled,
        `Successfully pulled image "${image}" in ${inSeconds(endedAtMonotonic - startedAtMonotonic)} ` +
          `(${inSeconds(endedAtMonotonic - waitedSinceMonotonic)} including waiting). Image size: ${size.toString()} bytes.`,
        container.name,
      );
      return found ?? { ...emptyImage, id: imageRef };
    });
    // A terminating pod must not wait for other pulls, or for a runtime that cancels slowly.
    return unlessAborted(pulling, signal);
  }

  /** Resolves with the reference of the pulled image, and the Secret whose credentials pulled it. */
  private async pullImage(image: string, request: PullRequest): Promise<PulledImage> {
    const { pod, container, sandboxConfig, recorder, signal } = request;
    const { imageService, pullProgress: progress, pullWatch, credentials, clock } = this.deps;
    const spec = { image, annotations: pod.metadata.annotations ?? {} };
    const pull = async (login: PullLogin | undefined): Promise<PulledImage> => {
      const pullRequest = { image: spec, sandboxConfig, ...(login && { auth: login.auth }) };
      const { imageRef } = await unlessStalled((bounded) => imageService.pullImage(pullRequest, { signal: bounded }), {
        progress,
        clock,
        signal,
      });
      return { imageRef, secret: login?.secret };
    };
    const known = await credentials.of(image, pod, recorder);
    return pullWatch.during(image, { pod, container: container.name }, () => pullWithEach(known, pull, signal));
  }
}

interface PulledImage {
  imageRef: string;
  secret: ImagePullSecret | undefined;
}

/** For a present image that the pod may not use. */
const credentialsHint =
  'The image is on this node, but no credentials of this pod pulled it before: name a Secret for its registry in imagePullSecrets';

/** For a machine without a registry, or a registry without the image. */
const loadHint = 'Correct the name, or load the image from an archive: kubelet-ts images load FILE';

/** For a node that runs with --offline. */
const offlineHint =
  'Bundle the images where a registry answers (kubelet-ts images bundle), and load the archive here: kubelet-ts images load FILE';

const emptyImage: Image = {
  id: '',
  repoTags: [],
  repoDigests: [],
  size: 0n,
  uid: undefined,
  username: '',
  spec: undefined,
  pinned: false,
};

/** kubelet: images/image_manager.go applyDefaultImageTag */
function withDefaultTag(image: string, recorder: PodEventRecorder): string {
  const reference = pullReference(image);
  if (reference !== undefined) return reference;
  const message = `Failed to apply default image tag "${image}": couldn't parse image name`;
  recorder.warning(reasons.inspectFailed, message);
  throw new ContainerStartError(reasons.invalidImageName, message);
}

/** kubelet: images/image_manager.go evalCRIPullErr */
function pullFailure(error: unknown): ContainerStartError {
  const message = errorMessage(error);
  const reason =
    [reasons.registryUnavailable, reasons.signatureValidationFailed].find((known) => message.startsWith(known)) ??
    reasons.errImagePull;
  return new ContainerStartError(reason, message, { cause: error });
}

/** Lower bounds of image sizes in MiB, with their labels. kubelet: metrics/metrics.go imageSizeBuckets */
const sizeLabels: readonly [number, string][] = [
  [100 * 1024, 'GT100GB'],
  [60 * 1024, '60GB-100GB'],
  [40 * 1024, '40GB-60GB'],
  [30 * 1024, '30GB-40GB'],
  [20 * 1024, '20GB-30GB'],
  [10 * 1024, '10GB-20GB'],
  [5 * 1024, '5GB-10GB'],
  [1024, '1GB-5GB'],
  [500, '500MB-1GB'],
  [100, '100MB-500MB'],
  [10, '10MB-100MB'],
  [0, '0-10MB'],
];

function sizeLabel(bytes: bigint): string {
  const [, label = 'N/A'] = sizeLabels.find(([mebibytes]) => bytes > BigInt(mebibytes) * 1024n * 1024n) ?? [];
  return label;
}

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(3).replace(/\.?0+$/, '')}s`;

/** How images are pulled and collected. kubelet: KubeletConfiguration */
export interface ImageSettings {
  /** How many pulls may run at a time. kubelet: serializeImagePulls, maxParallelImagePulls */
  maxParallelPulls: number;
  /** How many pulls may begin per second. 0 means no limit. kubelet: registryPullQPS */
  registryPullQPS: number;
  /** How many pulls may begin at once. kubelet: registryBurst */
  registryBurst: number;
  /** If true, every pull is refused, and a present image is used with every policy. */
  isOffline: boolean;
  /** Undefined if every pod may use every present image. */
  verification?: PullVerification | undefined;
  gc: ImageGCPolicy;
}
