/*
 * Runs on a thread of its own during a flood (`healthz-helper.ts`). scripts/generate bundles it into a text.
 *
 * INVARIANTS: the thread accepts from the descriptor of the main thread's server. The end of the thread would close
 * that descriptor, so no error ends it.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { boundedServer } from '../http-server.ts';
import type { HealthzNews, HealthzThreadData } from './healthz-helper.ts';
import { healthzHandler, maxSilenceMs } from './healthz-handler.ts';

/** Milliseconds without news from the main thread that count as a fault of it. */
const maxNewsAgeMs = 60_000;

const { descriptor, first } = workerData as HealthzThreadData;
let news: HealthzNews = first;
let newsAt = performance.now();
parentPort?.on('message', (message: HealthzNews) => {
  news = message;
  newsAt = performance.now();
});
const ignored = (): void => undefined;
process.on('uncaughtException', ignored);
process.on('unhandledRejection', ignored);

const unhealthyBecause = (): string | undefined =>
  performance.now() - newsAt > maxNewsAgeMs ? 'the event loop made no progress for a minute' : news.unhealthyBecause;
const faults = { note: ignored };
const server = boundedServer(healthzHandler(unhealthyBecause, faults), { faults });
server.setTimeout(maxSilenceMs);
server.listen({ fd: descriptor }, () => {
  parentPort?.postMessage('listening');
});
