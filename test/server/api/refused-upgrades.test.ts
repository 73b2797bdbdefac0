import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { connect as connectPlain, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ApiRig, openReadOnly } from './api-rig.ts';

const upgrade = 'GET /healthz HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';

/** Asks for an upgrade as a client that never closes its connection. Resolves with the status. */
async function ask(socket: Socket): Promise<string> {
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).write(upgrade);
  const [head] = (await once(socket, 'data')) as [Buffer];
  return head.toString().slice(9, 12);
}

test('more refused upgrades than there may be connections keep nobody out, though no client closes', async () => {
  const rig = await ApiRig.open();
  const statuses: string[] = [];
  for (let index = 0; index < 300; index += 1) {
    const where = { port: rig.port, host: '127.0.0.1', rejectUnauthorized: false, allowHalfOpen: true };
    statuses.push(await ask(connect(where)));
  }
  expect(new Set(statuses)).toEqual(new Set(['401']));
  await rig.untilClosed();
  expect(await rig.short('GET /healthz', { client: await rig.authority.issue('carol') })).toBe('200 ok');
});

test('the read-only port closes an answered upgrade too, and counts no request in flight', async () => {
  const { server, port, counts } = await openReadOnly();
  const closed = new Promise<unknown>((resolve) => {
    server.once('connection', (socket: Socket) => socket.once('close', resolve));
  });
  expect(await ask(connectPlain({ port, host: '127.0.0.1', allowHalfOpen: true }))).toBe('200');
  await closed;
  const [inFlight] = counts.families();
  expect([...(inFlight?.samples ?? [])].map(({ value }) => value)).toEqual([0]);
});

test('a client that asks for an upgrade gets the whole of a large answer', async () => {
  const folder = await temporaryFolder();
  const content = 'a line of the log\n'.repeat(500_000);
  await writeFile(join(folder, 'large.log'), content);
  const rig = await ApiRig.open({ systemLogs: folder });
  const client = await rig.authority.issue('carol');
  const headers = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'];
  const answer = await rig.short('GET /logs/large.log', { client, headers });
  expect([answer.length, answer === `200 ${content}`]).toEqual(['200 '.length + content.length, true]);
});

test('an upgrade that is not answered is closed after 60 s of silence', async () => {
  const rig = await ApiRig.open({ runtime: { exec: () => new Promise(() => undefined) } });
  const upgraded = once(rig.secure.server, 'upgrade') as Promise<[IncomingMessage, Socket]>;
  const client = await rig.connect(await rig.authority.issue('carol'));
  client.write(upgrade.replace('/healthz', '/exec/default/web/a?output=1'));
  const [, socket] = await upgraded;
  expect(socket.timeout).toBe(60_000);
  // As its timer does.
  socket.emit('timeout');
  await once(client.resume(), 'close');
  await rig.untilClosed();
});
