import type { Server } from 'node:http';
import type { Faults } from '../../flow/faults.ts';
import { hasCode, UserError } from '../../errors.ts';
import { boundedServer, listening } from '../http-server.ts';
import { apiHandler } from './api-handler.ts';
import { healthzMounts } from './healthz-checks.ts';

/** Time for a client to read its answer. */
const maxSilenceMs = 5000;

/**
 * Serves `/healthz` and `/healthz/ping` without credentials: `ok`, or 500 with the reason. The kubelet checks only that
 * it answers; here a blocked sync loop is a failure too. kubelet: cmd/kubelet/app/server.go startKubelet
 */
export async function serveHealthz(options: {
  bindAddress: string;
  port: number;
  /** Returns undefined while healthy. */
  unhealthyBecause: () => string | undefined;
  faults: Pick<Faults, 'record'>;
}): Promise<Server> {
  const { bindAddress: host, port, unhealthyBecause, faults } = options;
  const checks = [
    { name: 'ping', unhealthyBecause: () => undefined },
    { name: 'syncloop', unhealthyBecause, isShownOnlyFailing: true },
  ];
  const server = boundedServer(apiHandler({ mounts: healthzMounts(checks), faults }), { faults });
  server.setTimeout(maxSilenceMs);
  try {
    await listening(server, { host, port });
  } catch (error) {
    if (!hasCode(error, 'EADDRINUSE')) throw error;
    throw new UserError(`healthz cannot listen on ${host}:${port}: the port is in use`, {
      hint: 'Is a kubelet running already? Choose another --healthz-port, or 0 for none.',
      cause: error,
    });
  }
  server.unref();
  return server;
}
