import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Faults } from '../flow/faults.ts';
import { hasCode, UserError } from '../errors.ts';
import { httpServer, listening, sendText } from './http-server.ts';

/** Time for a client to read its answer. */
const maxSilenceMs = 5000;

/** Serves `GET /healthz`: `ok`, or 500 with the reason. kubelet: cmd/kubelet/app/server.go healthz */
export async function serveHealthz(options: {
  bindAddress: string;
  port: number;
  /** Returns undefined while healthy. */
  unhealthyBecause: () => string | undefined;
  faults: Pick<Faults, 'note'>;
}): Promise<Server> {
  const healthz = (_request: IncomingMessage, response: ServerResponse): void => {
    const problem = options.unhealthyBecause();
    if (problem === undefined) sendText(response, 200, 'ok');
    else sendText(response, 500, problem);
  };
  const server = httpServer({ 'GET /healthz': healthz }, { faults: options.faults });
  server.setTimeout(maxSilenceMs);
  try {
    await listening(server, { host: options.bindAddress, port: options.port });
  } catch (error) {
    if (!hasCode(error, 'EADDRINUSE')) throw error;
    throw new UserError(`healthz cannot listen on ${options.bindAddress}:${options.port}: the port is in use`, {
      hint: 'Is a kubelet running already? Choose another --healthz-port, or 0 for none.',
      cause: error,
    });
  }
  server.unref();
  return server;
}
