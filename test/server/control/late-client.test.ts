import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { call } from '../../../src/server/control/control-call.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Longer than a busy machine takes to hand a request to the server. */
const timeoutMs = 3000;
/** Without a bound, a server that never answers would hold this process up for ever. */
const blockedMs = 30_000;

/** Runs on another thread. Answers with its identity, and with the rest once that was asked for twice. */
const identifying = `
  const { createServer } = require('node:http');
  const { parentPort, workerData } = require('node:worker_threads');
  let rest;
  createServer((request, response) => {
    if (request.url !== '/v1/agent') return void (rest = response);
    if (workerData.answered[0] === 1) rest.end('late');
    parentPort.postMessage('asked');
    response.end('{}', () => {
      Atomics.store(workerData.answered, 0, 1);
      Atomics.notify(workerData.answered, 0);
    });
  }).listen(workerData.path, () => parentPort.postMessage('listening'));
`;

/** Asks a server on a thread of its own. Holds this process up from its first request until the time-out is over. */
async function askLate(script: string, ask: (socketPath: string) => Promise<string | undefined>): Promise<unknown> {
  const path = join(await temporaryFolder(), 'socket');
  const answered = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(script, { eval: true, workerData: { path, answered } });
  onTestFinished(() => worker.terminate().then(() => undefined));
  await once(worker, 'message');
  worker.once('message', () => {
    if (Atomics.wait(answered, 0, 0, blockedMs) === 'timed-out') throw new Error('the server did not answer');
    // The time-out is over before this process comes to read.
    Atomics.wait(answered, 0, 1, 2 * timeoutMs);
  });
  return ask(path);
}

test('an agent whose identity came in time is not stuck, also if this process is late', async () => {
  const timings = { pingAfterMs: 10, answerMs: 10 + timeoutMs, bodyMs: 60_000, busyMs: 60_000 };
  const ask = (socketPath: string) => call({ socketPath, method: 'GET', path: '/v1/snapshot', timings });
  expect(await askLate(identifying, ask)).toBe('late');
});
