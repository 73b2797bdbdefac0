import type { Server } from 'node:http';
import { Worker } from 'node:worker_threads';
import type { Faults } from '../../flow/faults.ts';

/** The result of the checks, from the main thread. */
export interface HealthzNews {
  unhealthyBecause: string | undefined;
}

export interface HealthzThreadData {
  /** Number of the listening socket. */
  descriptor: number;
  first: HealthzNews;
}

/** Milliseconds between two results for the thread. */
const newsPeriodMs = 1000;

/**
 * Starts a thread that accepts connections of this server, too, until the process ends. It is for floods: Node accepts
 * one connection in a turn of the event loop, and the turns of the main thread are long while it is attacked in other
 * ways. The thread takes 8 MB, so it is not there before.
 */
export async function startHealthzHelper(
  server: Server,
  unhealthyBecause: () => string | undefined,
  faults: Pick<Faults, 'note'>,
): Promise<void> {
  const descriptor = descriptorOf(server);
  if (descriptor === undefined) return;
  const { healthzThread } = await import('../generated/healthz-thread.ts');
  const news = (): HealthzNews => ({ unhealthyBecause: unhealthyBecause() });
  const workerData: HealthzThreadData = { descriptor, first: news() };
  const thread = new Worker(healthzThread, { eval: true, workerData, execArgv: [], env: {} });
  thread.on('error', (error) => {
    faults.note('thread of healthz', error);
  });
  thread.unref();
  const timer = setInterval(() => {
    thread.postMessage(news());
  }, newsPeriodMs);
  timer.unref();
}

/** Node does not document this number. Returns undefined if the server does not listen. */
function descriptorOf(server: Server): number | undefined {
  const { _handle: handle } = server as { _handle?: { fd?: unknown } | null };
  const descriptor = handle?.fd;
  return typeof descriptor === 'number' && descriptor >= 0 ? descriptor : undefined;
}
