// Asks an agent once a second whether it answers, and tells how long that took, a JSON object a line.
// Arguments: port of healthz, path of the control socket, pid of the agent. As a floor, a server of Node that does
// nothing else is asked in the same second: what a busy machine costs shows there too.
import { readdir, readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { loadavg } from 'node:os';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/* global AbortSignal -- no module of Node exports it */
const [port, socketPath, pid] = process.argv.slice(1);
const giveUpMs = 30_000;

/** Asks until there is an answer: while a flood holds all connections of a server, it closes new ones. */
async function ask(since, options) {
  for (;;) {
    const answer = await askOnce(options);
    const ms = performance.now() - since;
    if (answer !== 'ECONNRESET' || ms > giveUpMs) return answer === undefined ? { ms } : { ms, error: answer };
    await sleep(100);
  }
}

/** Resolves with what failed, or with undefined after the whole answer. */
async function askOnce(options) {
  return new Promise((resolve) => {
    const sent = request({ ...options, agent: false, signal: AbortSignal.timeout(giveUpMs) }, (response) => {
      response.resume();
      response.on('error', (error) => resolve(`in the answer: ${error.message}`));
      response.on('end', () => resolve(response.statusCode === 200 ? undefined : `status ${response.statusCode}`));
    });
    sent.on('error', (error) => resolve(error.code ?? error.message));
    sent.end();
  });
}

const floor = createServer((_request, response) => response.end('ok'));
await new Promise((resolve) => floor.listen(0, '127.0.0.1', resolve));

async function memory() {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const descriptors = (await readdir(`/proc/${pid}/fd`).catch(() => [])).length;
  const ofLine = (name) => Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? NaN) / 1024;
  return { residentMB: ofLine('VmRSS'), peakMB: ofLine('VmHWM'), descriptors };
}

for (;;) {
  const next = sleep(1000);
  // One for all: this process may be held up between two of them.
  const since = performance.now();
  const [healthz, table, idle] = await Promise.all([
    ask(since, { host: '127.0.0.1', port, path: '/healthz' }),
    ask(since, { socketPath, path: '/v1/snapshot' }),
    ask(since, { host: '127.0.0.1', port: floor.address().port, path: '/' }),
  ]);
  const seconds = since / 1000;
  const sample = { seconds, healthz, table, floorMs: idle.ms, load: loadavg()[0], ...(await memory()) };
  process.stdout.write(`${JSON.stringify(sample)}\n`);
  await next;
}
