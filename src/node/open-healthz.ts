import type { Server } from 'node:http';
import type { Faults } from '../flow/faults.ts';
import { ownCommandLine } from '../own-program.ts';
import { serveHealthz } from '../server/api/healthz.ts';
import type { NodeOptions } from './options/node-options.ts';

/** Serves `/healthz`. Returns undefined if it is turned off. Rejects with a `UserError` if its port is taken. */
export function openHealthz(
  { healthzPort, healthzBindAddress }: NodeOptions,
  unhealthyBecause: () => string | undefined,
  faults: Faults,
): Promise<Server> | undefined {
  if (healthzPort === 0) return undefined;
  return serveHealthz({
    bindAddress: healthzBindAddress,
    port: healthzPort,
    unhealthyBecause,
    faults,
    program: ownCommandLine(),
  });
}
