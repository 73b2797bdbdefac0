import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { ApiRig } from './api-rig.ts';

const count = 1000;

/** Starts of requests that never end, on connections without a handshake and with one. */
const starts = [
  '',
  'GET /pods HTTP/1.1\r\nHost: node\r\n',
  'POST /run/default/web/a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx',
];

test('1,000 stuck connections keep nobody out, and nothing of them stays', async () => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const stuck: Socket[] = [];
  for (let index = 0; index < count; index += 1) {
    const isPlain = index % 10 > 0;
    const socket = isPlain
      ? connect({ port: rig.port, host: '127.0.0.1' })
      : await rig.connect(client).catch(() => undefined);
    if (socket === undefined) continue;
    socket.on('error', () => undefined).write(starts[index % starts.length] ?? '');
    if (isPlain) await once(socket, 'connect');
    stuck.push(socket);
  }
  const answers: string[] = [];
  const times: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const since = performance.now();
    answers.push(await rig.short('GET /healthz', { client }));
    times.push(performance.now() - since);
  }
  expect(new Set(answers)).toEqual(new Set(['200 ok']));
  // 10 to 20 ms on a quiet machine, with the handshake.
  expect(times.sort((a, b) => a - b)[10]).toBeLessThan(1000);
  for (const socket of stuck) socket.destroy();
  await rig.untilClosed();
  expect(rig.problems).toEqual([]);
}, 60_000);
