import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { Certificate } from '../../fakes/certificate-authority.ts';
import { ApiRig } from './api-rig.ts';

const count = 1000;

/** Starts of requests that never end, on connections without a handshake and with one. */
const starts = [
  '',
  'GET /pods HTTP/1.1\r\nHost: node\r\n',
  'POST /run/default/web/a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx',
  'GET /nosuch HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
];

/** Milliseconds of CPU that answers of /healthz take on both sides, each with a handshake. */
async function askHealthz(rig: ApiRig, client: Certificate): Promise<number> {
  const before = process.cpuUsage();
  for (let round = 0; round < 20; round += 1) expect(await rig.short('GET /healthz', { client })).toBe('200 ok');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

test('1,000 stuck connections keep nobody out, make no answer dearer, and nothing of them stays', async () => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  // Compiles the code.
  await askHealthz(rig, client);
  const alone = await askHealthz(rig, client);
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
  // The first answers wait for connections before them, and for those that time out.
  const among = [await askHealthz(rig, client), await askHealthz(rig, client), await askHealthz(rig, client)];
  expect(Math.min(...among)).toBeLessThan(2 * alone);
  for (const socket of stuck) socket.destroy();
  await rig.untilClosed();
  expect(rig.problems).toEqual([]);
});
