import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Agent as HTTPAgent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { systemClock } from '../src/clock.ts';
import type { Agent } from './agent.ts';
import type { Figures } from './figures.ts';
import { processUsage } from './process-usage.ts';

/** How often each path is scraped. /proc counts CPU in steps of 10 ms. */
const scrapes = 25;
/**
 * Milliseconds between two scrapes. All scrapes together take a minute: the agent syncs each pod and lists the runtime
 * once a minute, and every window must contain the same number of these. The pause is longer than scrapes share their
 * statistics, so each scrape measures again.
 */
const betweenMs = 60_000 / scrapes;
/** In the first scrapes, the agent compiles its code and loads the library. */
const warmUpScrapes = 5;

const paths = ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/stats/summary'];

/** Returns a TCP port of this machine that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** Measures the agent's CPU per scrape of each path on its read-only port, for a client with one connection. */
export async function measureScrapes(figures: Figures, agent: Agent, port: number, pods: string): Promise<void> {
  const connection = new HTTPAgent({ keepAlive: true });
  try {
    const idleMs = await cpuOf(agent, () => Promise.resolve());
    for (const path of paths) {
      const scrape = (): Promise<void> => fetched(connection, port, path);
      for (let run = 0; run < warmUpScrapes; run++) await scrape();
      figures.add({ what: `CPU of ${path}, ${pods}`, unit: 'ms' }, agent.name, (await cpuOf(agent, scrape)) - idleMs);
    }
  } finally {
    connection.destroy();
  }
}

/** Scrapes /metrics like Prometheus with default settings, for `ms` milliseconds. */
export async function scrapeEvery15s(port: number, ms: number): Promise<void> {
  const connection = new HTTPAgent({ keepAlive: true });
  const headers = { 'accept-encoding': 'gzip' };
  try {
    for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += 15_000) {
      const next = systemClock.sleep(15_000);
      await fetched(connection, port, '/metrics', headers);
      await next;
    }
  } finally {
    connection.destroy();
  }
}

/** Returns the agent's CPU per turn in milliseconds, on average. */
async function cpuOf(agent: Agent, act: () => Promise<void>): Promise<number> {
  const { cpuMs: before } = await processUsage(agent.pid);
  for (let run = 0; run < scrapes; run++) {
    const next = systemClock.sleep(betweenMs);
    await act();
    await next;
  }
  return ((await processUsage(agent.pid)).cpuMs - before) / scrapes;
}

async function fetched(connection: HTTPAgent, port: number, path: string, headers = {}): Promise<void> {
  const [response] = (await once(get({ agent: connection, port, path, headers }), 'response')) as [IncomingMessage];
  const body = await text(response);
  if (response.statusCode !== 200) throw new Error(`${path} answered ${response.statusCode ?? 0}: ${body}`);
}
