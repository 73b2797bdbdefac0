import type { Container, Pod } from '../../../src/api/types.ts';
import { ImageStatusResponse, type PullImageResponse } from '../../../src/cri/generated/cri.ts';
import { BackOff } from '../../../src/flow/back-off.ts';
import { ContainerStartError } from '../../../src/engine/container/container-start-error.ts';
import { ImageManager } from '../../../src/engine/images/image-manager.ts';
import { PullWatch } from '../../../src/engine/images/pull-watch.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

export interface PullLimits {
  maxParallelPulls: number;
  registryPullQPS: number;
  registryBurst: number;
}

/** A pull that the runtime has not answered yet. */
interface Pull {
  readonly request: Request;
  end: (how: 'ok' | 'error') => void;
}

interface Request {
  readonly pod: Pod;
  readonly container: Container;
  readonly stopping: AbortController;
}

/** When the last pull of a pod's image failed, and what it had to wait then. */
interface Failure {
  at: number;
  waitMs: number;
}

const initialMs = 10_000;
const maxMs = 300_000;

/** Containers that ask for images of a runtime which pulls them as a test says. */
export class ImageManagerModel {
  readonly #clock = new FakeClock();
  readonly violations: string[] = [];
  readonly #limits: PullLimits;
  /** By the number that names their sandbox. */
  readonly #ids: Request[] = [];
  /** Those that did not end yet. */
  readonly #requests: Request[] = [];
  readonly #pulls: Pull[] = [];
  readonly #begun: number[] = [];
  readonly #failures = new Map<string, Failure>();
  readonly #manager: ImageManager;

  constructor(limits: PullLimits) {
    this.#limits = limits;
    this.#manager = new ImageManager({
      imageService: {
        imageStatus: () => Promise.resolve(ImageStatusResponse.fromPartial({})),
        pullImage: ({ sandboxConfig } = {}, { signal } = {}) => this.#pull(sandboxConfig?.metadata?.name ?? '', signal),
      },
      backOff: new BackOff(this.#clock),
      clock: this.#clock,
      settings: {
        ...limits,
        isOffline: false,
        gc: { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 0, maxAgeMs: 0 },
      },
      pullWatch: new PullWatch({
        ...{ readIngests: () => Promise.resolve(undefined), clock: this.#clock, emit: () => undefined },
      }),
      pullProgress: () => Promise.resolve(undefined),
      credentials: { of: () => Promise.resolve([]), secretsOf: () => [] },
    });
  }

  /** A sync of a pod needs one of its images. */
  ask(uid: string, image: string): void {
    const request: Request = {
      pod: makePod({ metadata: { uid } }),
      container: makeContainer({ image: `${image}:1`, imagePullPolicy: 'Always' }),
      stopping: new AbortController(),
    };
    this.#requests.push(request);
    const id = String(this.#ids.push(request) - 1);
    const failure = this.#failures.get(keyOf(request));
    const isHeldBack = failure !== undefined && this.#clock.monotonic() < failure.at + failure.waitMs;
    const ended = (): void => {
      this.#requests.splice(this.#requests.indexOf(request), 1);
    };
    this.#manager
      .ensureImageExists({
        ...request,
        ...{ sandboxConfig: { metadata: { name: id } }, signal: request.stopping.signal },
        recorder: { normal: () => undefined, warning: () => undefined },
      })
      .then(
        () => {
          ended();
          if (isHeldBack) this.violations.push(`${keyOf(request)} was pulled in its back-off`);
        },
        (error: unknown) => {
          ended();
          this.#takeError(request, error, failure, isHeldBack);
        },
      );
  }

  /** The pod does not need it any more. */
  abort(nth: number): void {
    const request = this.#requests[nth % Math.max(this.#requests.length, 1)];
    request?.stopping.abort(new Error('made to end'));
  }

  endPull(nth: number, how: 'ok' | 'error'): void {
    this.#pulls.splice(nth % Math.max(this.#pulls.length, 1), 1)[0]?.end(how);
  }

  wait(ms: number): Promise<void> {
    return this.#clock.advance(ms);
  }

  /** What was given up has ended, whatever else is under way. */
  async check(): Promise<void> {
    await this.#clock.advance(0);
    const pulled = this.#pulls.map(({ request }) => request);
    const left = [...this.#requests, ...pulled].filter(({ stopping }) => stopping.signal.aborted);
    for (const request of left) this.violations.push(`${keyOf(request)} was given up and goes on`);
  }

  /** Every pull ends now: so does every request, and as many can be pulled at once as ever. */
  async settle(): Promise<void> {
    while (this.#pulls.length > 0) {
      this.endPull(0, 'ok');
      await this.#clock.advance(0);
    }
    if (this.#requests.length > 0) this.violations.push(`${this.#requests.length} requests never end`);
    await this.#clock.advance(maxMs * 3);
    const possible = Math.min(
      this.#limits.maxParallelPulls,
      this.#limits.registryPullQPS > 0 ? this.#limits.registryBurst : 9,
    );
    for (let nth = 0; nth < possible; nth++) this.ask('last', `app${nth}`);
    await this.#clock.advance(0);
    if (this.#pulls.length < possible) this.violations.push(`${this.#pulls.length} of ${possible} slots are left`);
    while (this.#pulls.length > 0) {
      this.endPull(0, 'ok');
      await this.#clock.advance(0);
    }
  }

  #pull(id: string, signal: AbortSignal | undefined): Promise<PullImageResponse> {
    const request = this.#ids[Number(id)];
    if (request === undefined) return Promise.reject(new Error('Nobody asked for it'));
    const { maxParallelPulls, registryPullQPS, registryBurst } = this.#limits;
    if (request.stopping.signal.aborted) this.violations.push(`${keyOf(request)} is pulled for nobody`);
    const now = this.#clock.monotonic();
    this.#begun.push(now);
    for (const since of registryPullQPS > 0 ? this.#begun : []) {
      const allowed = registryBurst + ((now - since) / 1000) * registryPullQPS;
      const begun = this.#begun.filter((at) => at >= since).length;
      if (begun > allowed) this.violations.push(`${begun} pulls began in ${now - since} ms`);
    }
    return new Promise((resolve, reject) => {
      const pull: Pull = {
        request,
        end: (how) => {
          if (how === 'ok') resolve({ imageRef: 'sha256:1' });
          else reject(new Error('made to fail'));
        },
      };
      this.#pulls.push(pull);
      if (this.#pulls.length > maxParallelPulls) this.violations.push(`${this.#pulls.length} pulls run at once`);
      signal?.addEventListener('abort', () => {
        const place = this.#pulls.indexOf(pull);
        if (place >= 0) this.#pulls.splice(place, 1);
        reject(signal.reason as Error);
      });
    });
  }

  /** A failed pull is not tried again before its back-off is over; that is twice as long each time. */
  #takeError(request: Request, error: unknown, before: Failure | undefined, isHeldBack: boolean): void {
    const key = keyOf(request);
    if (request.stopping.signal.aborted) {
      if (error !== request.stopping.signal.reason) this.violations.push(`${key} ends with ${String(error)}`);
      return;
    }
    if (!(error instanceof ContainerStartError)) {
      this.violations.push(`${key} fails with ${String(error)}`);
      return;
    }
    const isBackingOff = error.reason === 'ImagePullBackOff';
    if (isBackingOff !== isHeldBack) this.violations.push(`${key} fails with ${error.reason}`);
    if (isBackingOff) {
      if (before !== undefined && error.retryAtMonotonic !== before.at + before.waitMs) {
        this.violations.push(`${key} is to be tried again at ${error.retryAtMonotonic ?? 0}`);
      }
      return;
    }
    const last = this.#failures.get(key);
    const startsOver = last === undefined || this.#clock.monotonic() - last.at > 2 * maxMs;
    this.#failures.set(key, {
      at: this.#clock.monotonic(),
      waitMs: startsOver ? initialMs : Math.min(last.waitMs * 2, maxMs),
    });
  }
}

const keyOf = ({ pod, container }: Request): string => `${pod.metadata.uid}_${container.image ?? ''}`;
