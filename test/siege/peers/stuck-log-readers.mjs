// Follows a log over HTTPS on many connections, takes a little of it or nothing, and stops reading. Drops them after
// some seconds and begins again. Arguments: port, token, path of the log, connections at a time. Tells every reader
// that asks for one line meanwhile and gets no answer, and `round` after each round.
import { request } from 'node:https';
import { setTimeout } from 'node:timers';
import { connect } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';

/* global AbortSignal -- no module of Node exports it */
const [port, token, path, count] = process.argv.slice(1);
const address = { host: '127.0.0.1', port: Number(port), rejectUnauthorized: false };
const head = `GET ${path}?follow=true HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer ${token}\r\n\r\n`;
const giveUpMs = 30_000;

function stuckReader(index) {
  const socket = connect(address, () => socket.write(head));
  socket.on('error', () => undefined);
  // A third reads on, a little at a time. A third takes the first bytes, and the others nothing at all.
  if (index % 3 === 0) socket.on('data', () => socket.pause() && setTimeout(() => socket.resume(), 1000));
  else if (index % 3 === 1) socket.once('data', () => socket.pause());
  else socket.pause();
  return socket;
}

function lastLine() {
  const headers = { authorization: `Bearer ${token}` };
  const options = { ...address, path: `${path}?tailLines=1`, headers, signal: AbortSignal.timeout(giveUpMs) };
  return new Promise((resolve) => {
    const asked = request({ ...options, agent: false }, (response) => {
      response.on('error', (error) => resolve(error.message));
      response.resume().on('end', () => resolve(undefined));
    });
    asked.on('error', (error) => resolve(error.message)).end();
  });
}

for (;;) {
  const sockets = Array.from({ length: Number(count) }, (_, index) => stuckReader(index));
  await sleep(4000);
  const complaint = await lastLine();
  if (complaint !== undefined) process.stdout.write(`${complaint}\n`);
  await sleep(4000);
  for (const socket of sockets) socket.destroy();
  process.stdout.write('round\n');
}
