import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Agent as HTTPAgent, get } from 'node:http';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { systemClock } from '../src/clock.ts';
import type { Agent } from './agent.ts';
import type { Figures } from './figures.ts';
import { processUsage } from './process-usage.ts';

/** Each path is scraped so often. /proc counts CPU in steps of 10 ms. */
const scrapes = 25;
/**
 * All scrapes take a minute: the agent syncs each pod and lists the runtime once a minute, which every window must have
 * in the same number. Longer than scrapes share their figures, so that each one measures.
 */
const betweenMs = 60_000 / scrapes;
/** The agent compiles its code and loads the library in the first scrapes. */
const warmUpScrapes = 5;

const paths = ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/stats/summary'];

/** A port of this machine that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** The agent's CPU of one scrape of each path of its read-only port, as a client with one connection scrapes. */
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

/** Scrapes /metrics as Prometheus does by default, for so long. */
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

/** Milliseconds of CPU of the agent in one turn, on average. */
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
