import type { Server } from 'node:http';
import type { Faults } from '../flow/faults.ts';
import { serveHealthz } from '../server/api/healthz.ts';
import type { NodeOptions } from './options/node-options.ts';

interface Deps {
  options: Pick<NodeOptions, 'healthzPort' | 'healthzBindAddress'>;
  faults: Pick<Faults, 'record'>;
}

/** The health of the agent during and after its start, and the `/healthz` that serves it. */
export class AgentHealth {
  private reason = (): string | undefined => undefined;
  private opening: Promise<Server> | undefined;

  constructor(private readonly deps: Deps) {}

  /** From now on the agent is unhealthy for this reason, and healthy while `reason` returns undefined. */
  because(reason: () => string | undefined): void {
    this.reason = reason;
  }

  /** Why the agent is unhealthy. Returns undefined while it is healthy. */
  unhealthyBecause(): string | undefined {
    return this.reason();
  }

  /**
   * Serves `/healthz`, unless it is already served or is disabled. Rejects with a `UserError` if its port is in use.
   */
  async open(): Promise<void> {
    const { options, faults } = this.deps;
    const { healthzPort: port, healthzBindAddress: bindAddress } = options;
    if (port === 0) return;
    const unhealthyBecause = (): string | undefined => this.unhealthyBecause();
    this.opening ??= serveHealthz({ bindAddress, port, unhealthyBecause, faults });
    await this.opening;
  }

  /** Stops serving `/healthz`. */
  async close(): Promise<void> {
    const server = await this.opening?.catch(() => undefined);
    server?.close();
  }
}
