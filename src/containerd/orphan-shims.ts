import type { Clock } from '../clock.ts';
import { errorMessage } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { ContainerdShim } from './containerd-shims.ts';

/** Milliseconds between the two checks. A shim that is unknown in both is an orphan. */
const secondCheckAfterMs = 5000;

interface OrphanShimsDeps {
  /** The running shims of this containerd. */
  readonly findShims: () => Promise<readonly ContainerdShim[]>;
  /** Ids of all its sandboxes and containers. */
  readonly listKnownIDs: (signal: AbortSignal) => Promise<ReadonlySet<string>>;
  /** Events of its containers and sandboxes. The stream ends with containerd or when the signal is aborted. */
  readonly events: (signal: AbortSignal) => AsyncIterable<{ readonly type: string }>;
  /** Kills a shim. Undefined if the containerd is not ours: its shims are only logged. */
  readonly end: ((shim: ContainerdShim) => Promise<void>) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Stops shims that their containerd does not list. They remain if containerd or this agent was killed while it started
 * a sandbox. containerd loses track of them when the sandbox is removed, and never stops them.
 */
export class OrphanShims {
  private isWanted = false;
  private isChecking = false;

  /** Does nothing once the signal is aborted. */
  constructor(
    private readonly deps: OrphanShimsDeps,
    private readonly signal: AbortSignal,
  ) {}

  /** Checks now, and whenever containerd deletes a container. Must be called each time a containerd comes up. */
  async follow(): Promise<void> {
    void this.check();
    try {
      for await (const { type } of this.deps.events(this.signal)) if (type === 'removed') void this.check();
    } catch (error) {
      this.logFailure(error);
    }
  }

  /** Checks twice. If called during a check, checks again afterwards. */
  async check(): Promise<void> {
    this.isWanted = true;
    if (this.isChecking || this.signal.aborted) return;
    this.isChecking = true;
    try {
      while (this.isWanted) {
        this.isWanted = false;
        const before = await this.unknown(this.signal);
        await this.deps.clock.sleep(secondCheckAfterMs, { signal: this.signal });
        await this.endStillUnknown(before, this.signal);
      }
    } catch (error) {
      // If containerd does not answer, the check follows when it comes up.
      this.logFailure(error);
    } finally {
      this.isChecking = false;
    }
  }

  /**
   * Checks before containerd is stopped: even if the signal is aborted, and with a pause only if there are unknown
   * shims.
   */
  async checkBeforeStop(): Promise<void> {
    const { signal } = new AbortController();
    try {
      const before = await this.unknown(signal);
      if (before.length === 0) return;
      await this.deps.clock.sleep(secondCheckAfterMs);
      await this.endStillUnknown(before, signal);
    } catch (error) {
      this.deps.logger.warn({ err: errorMessage(error) }, 'Cannot find out whether some running shims are in use');
    }
  }

  private async endStillUnknown(before: readonly ContainerdShim[], signal: AbortSignal): Promise<void> {
    if (before.length === 0) return;
    const keys = new Set(before.map(keyOf));
    for (const shim of await this.unknown(signal)) if (keys.has(keyOf(shim))) await this.end(shim);
  }

  /** Lists shims before ids, so that a new sandbox can only be in the ids. */
  private async unknown(signal: AbortSignal): Promise<ContainerdShim[]> {
    const shims = await this.deps.findShims();
    if (shims.length === 0) return [];
    const known = await this.deps.listKnownIDs(signal);
    return shims.filter(({ id }) => !known.has(id));
  }

  private async end(shim: ContainerdShim): Promise<void> {
    const { end, logger } = this.deps;
    const facts = { pid: shim.process.pid, id: shim.id };
    if (end === undefined) {
      logger.warn(facts, 'containerd does not list a running shim: stop it by hand, as this containerd is not managed');
      return;
    }
    try {
      await end(shim);
      logger.warn(facts, 'Stopped a shim that containerd did not list');
    } catch (error) {
      logger.error({ ...facts, err: error }, 'Stopping a shim that containerd does not list failed');
    }
  }

  private logFailure(error: unknown): void {
    if (this.signal.aborted) return;
    this.deps.logger.debug({ err: errorMessage(error) }, 'Finding orphaned shims failed');
  }
}

const keyOf = ({ id, process: { pid, startTicks } }: ContainerdShim): string => `${id} ${String(pid)} ${startTicks}`;
