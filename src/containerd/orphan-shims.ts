import type { Clock } from '../clock.ts';
import { errorMessage } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { ContainerdShim } from './containerd-shims.ts';

/** Milliseconds from one look to the next: whoever is unknown in both stays so. */
const secondLookAfterMs = 5000;

interface OrphanShimsDeps {
  /** The shims of this containerd that run. */
  readonly findShims: () => Promise<readonly ContainerdShim[]>;
  /** Ids of all that it knows. */
  readonly listKnownIDs: (signal: AbortSignal) => Promise<ReadonlySet<string>>;
  /** What becomes of its containers and sandboxes, until it ends or the signal is aborted. */
  readonly events: (signal: AbortSignal) => AsyncIterable<{ readonly type: string }>;
  /** Undefined where the containerd is not ours: then a shim is only told of. */
  readonly end: ((shim: ContainerdShim) => Promise<void>) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Ends shims that their containerd does not know: those of sandboxes in the middle of whose start containerd was killed, or
 * we were. It forgets them when the sandbox is removed, and nobody else ever ends them.
 */
export class OrphanShims {
  readonly #deps: OrphanShimsDeps;
  readonly #signal: AbortSignal;
  #isWanted = false;
  #isLooking = false;

  /** Does nothing once the signal is aborted. */
  constructor(deps: OrphanShimsDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  /** Looks now, and whenever containerd forgets a container. To be called for each containerd that comes up. */
  async follow(): Promise<void> {
    void this.look();
    try {
      for await (const { type } of this.#deps.events(this.#signal)) if (type === 'removed') void this.look();
    } catch (error) {
      this.#tellFailure(error);
    }
  }

  /** Looks twice. Whoever asks meanwhile has it done once more by the one that looks already. */
  async look(): Promise<void> {
    this.#isWanted = true;
    if (this.#isLooking || this.#signal.aborted) return;
    this.#isLooking = true;
    try {
      while (this.#isWanted) {
        this.#isWanted = false;
        const before = await this.#unknown(this.#signal);
        await this.#deps.clock.sleep(secondLookAfterMs, { signal: this.#signal });
        await this.#endStillUnknown(before, this.#signal);
      }
    } catch (error) {
      // A containerd that does not answer is looked at when it comes up.
      this.#tellFailure(error);
    } finally {
      this.#isLooking = false;
    }
  }

  /** For who ends the containerd afterwards: looks too when the signal is aborted, and pauses only where some are unknown. */
  async lookForTheLastTime(): Promise<void> {
    const { signal } = new AbortController();
    try {
      const before = await this.#unknown(signal);
      if (before.length === 0) return;
      await this.#deps.clock.sleep(secondLookAfterMs);
      await this.#endStillUnknown(before, signal);
    } catch (error) {
      this.#deps.logger.warn(
        { err: errorMessage(error) },
        'Shims run of which it is not known whether they are in use',
      );
    }
  }

  async #endStillUnknown(before: readonly ContainerdShim[], signal: AbortSignal): Promise<void> {
    if (before.length === 0) return;
    const keys = new Set(before.map(keyOf));
    for (const shim of await this.#unknown(signal)) if (keys.has(keyOf(shim))) await this.#end(shim);
  }

  /** Shims before ids: of a sandbox that comes meanwhile only the id can be listed without the shim. */
  async #unknown(signal: AbortSignal): Promise<ContainerdShim[]> {
    const shims = await this.#deps.findShims();
    if (shims.length === 0) return [];
    const known = await this.#deps.listKnownIDs(signal);
    return shims.filter(({ id }) => !known.has(id));
  }

  async #end(shim: ContainerdShim): Promise<void> {
    const { end, logger } = this.#deps;
    const facts = { pid: shim.process.pid, id: shim.id };
    if (end === undefined) {
      logger.warn(facts, 'A shim runs that its containerd does not know: end it by hand, this containerd is not ours');
      return;
    }
    try {
      await end(shim);
      logger.warn(facts, 'Ended a shim that its containerd did not know');
    } catch (error) {
      logger.error({ ...facts, err: error }, 'A shim that its containerd does not know could not be ended');
    }
  }

  #tellFailure(error: unknown): void {
    if (this.#signal.aborted) return;
    this.#deps.logger.debug({ err: errorMessage(error) }, 'Looking for shims that nobody knows failed');
  }
}

const keyOf = ({ id, process: { pid, startTicks } }: ContainerdShim): string => `${id} ${String(pid)} ${startTicks}`;
