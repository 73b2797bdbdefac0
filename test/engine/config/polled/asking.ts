import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { PolledSource } from '../../../../src/engine/config/polled/polled-source.ts';
import { HTTPOrigin } from '../../../../src/origins/http/http-origin.ts';
import { LargeBodies } from '../../../../src/origins/http/large-bodies.ts';
import { LastGoodManifests } from '../../../../src/engine/config/last-good/last-good-manifests.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { silentLogger } from '../../../fakes/silent-logger.ts';
import { type Handed, SourceRecorder } from '../source-recorder.ts';

type SourceOptions = ConstructorParameters<typeof PolledSource>[0];
type OriginOptions = ConstructorParameters<typeof HTTPOrigin>[0];
type Options = Omit<SourceOptions, 'clock' | 'lastGood' | 'origin'> &
  Omit<OriginOptions, 'clock' | 'largeBodies' | 'url'> & { url: string };

/** A manifest of a pod. */
export const podManifest = (name: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });

/** An agent that asks a URL, with a root-dir; it may live more than once. */
export class Asking {
  readonly clock = new FakeClock();
  readonly #rootDir: string;
  readonly #options: Options;
  #life: { recorder: SourceRecorder; lastGood: LastGoodManifests };

  private constructor(rootDir: string, options: Options) {
    this.#rootDir = rootDir;
    this.#options = options;
    this.#life = this.#begin(options);
  }

  static async start(options: Partial<Options> & Pick<Options, 'url'>): Promise<Asking> {
    const asking = new Asking(await temporaryFolder(), { ...defaults, ...options });
    onTestFinished(() => asking.stop());
    return asking;
  }

  get recorder(): SourceRecorder {
    return this.#life.recorder;
  }

  get lastGoodFolder(): string {
    return join(this.#rootDir, 'manifests-last-good');
  }

  /** What the next check brings, or the wait for it. */
  next(): Promise<Handed> {
    return this.recorder.next();
  }

  /** Lets the time until the next check pass. */
  async askAgain(): Promise<Handed> {
    await this.clock.advanceToNextTimer();
    return this.next();
  }

  async stop(): Promise<void> {
    await this.recorder.stop();
    await this.#life.lastGood.retry();
  }

  /** Forgets what was declared, as `down` does. */
  async tearDown(): Promise<void> {
    await this.stop();
    await this.#life.lastGood.removeAll();
  }

  /** Ends this life and begins the next one, with what is on the disk. */
  async restart(options: Partial<Options> = {}): Promise<void> {
    await this.stop();
    this.#life = this.#begin({ ...this.#options, ...options });
  }

  #begin(options: Options): { recorder: SourceRecorder; lastGood: LastGoodManifests } {
    const { clock } = this;
    const lastGood = new LastGoodManifests({ rootDir: this.#rootDir, clock, logger: silentLogger });
    const url = new URL(options.url);
    const origin = new HTTPOrigin({
      ...options,
      url,
      largeBodies: new LargeBodies(join(this.#rootDir, 'bodies')),
      clock,
    });
    return { lastGood, recorder: new SourceRecorder(new PolledSource({ ...options, origin, lastGood, clock })) };
  }
}

const defaults: Omit<Options, 'url'> = {
  headers: [],
  files: {},
  trust: { sha256: [], publicKeys: [] },
  proxyFor: () => undefined,
  nodeName: 'edge1',
  httpCheckFrequencyMs: 20_000,
  phase: 0,
  random: () => 0.5,
};
