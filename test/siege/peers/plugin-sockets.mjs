// Listens on sockets in a folder as no plugin should: each kind another way, and many that say nothing. Argument: the
// folder. Replaces those of all kinds but the silent ones every few seconds.
import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const [folder] = process.argv.slice(1);
const silent = 400;
const ofEachKind = 4;

/** A frame of HTTP/2. */
function frame(type, flags, stream, content) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, content]);
}

const times = (count, bytes) => Buffer.concat(Array(count).fill(bytes));
const settings = frame(4, 0, 0, Buffer.alloc(0));
const answer = frame(1, 4, 1, Buffer.from([0x88, 0x5f, 0x10, ...Buffer.from('application/grpc')]));
const message = Buffer.concat([Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]), Buffer.alloc(16_000)]);
/** A header `a` of 15,000 characters. */
const header = Buffer.concat([Buffer.from([0x00, 0x01, 0x61, 0x7f, 0x99, 0x74]), Buffer.alloc(15_000, 0x61)]);

function pour(socket, bytes) {
  const write = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', write);
  write();
}

/** Answers the first request with this, and then pours. */
function afterRequest(socket, first, poured) {
  socket.write(settings);
  socket.once('data', () => {
    socket.write(first);
    pour(socket, poured);
  });
}

const kinds = {
  garbage: (socket) => socket.write(Buffer.alloc(65_536, 'x')),
  noise: (socket) => pour(socket, Buffer.alloc(65_536, 'x')),
  closes: (socket) => socket.destroy(),
  'no-answer': (socket) => socket.write(settings),
  settings: (socket) => pour(socket, times(500, settings)),
  pings: (socket) => pour(socket, Buffer.concat([settings, times(500, frame(6, 0, 0, Buffer.alloc(8)))])),
  'unknown-frames': (socket) => pour(socket, Buffer.concat([settings, times(4, frame(200, 0, 0, message))])),
  'endless-info': (socket) => afterRequest(socket, answer, times(4, frame(0, 0, 1, message))),
  'tiny-data': (socket) =>
    afterRequest(
      socket,
      Buffer.concat([answer, frame(0, 0, 1, Buffer.from([0, 0, 15, 0, 0]))]),
      times(5000, frame(0, 0, 1, Buffer.alloc(1))),
    ),
  'broken-headers': (socket) => afterRequest(socket, frame(1, 0, 1, header), frame(0, 0, 1, message)),
  pushes: (socket) => afterRequest(socket, answer, frame(5, 4, 1, Buffer.concat([Buffer.from([0, 0, 0, 2]), header]))),
  extensions: (socket) =>
    afterRequest(socket, answer, Buffer.concat([10, 12].map((type) => frame(type, 0, 0, message)))),
  'endless-headers': (socket) => afterRequest(socket, frame(1, 0, 1, header), times(4, frame(9, 0, 1, header))),
};

function listen(name, onSocket) {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', () => undefined);
    onSocket(socket);
  });
  const path = join(folder, `${name}.sock`);
  server.listen(path);
  return () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(path, { force: true });
  };
}

for (let index = 0; index < silent; index++) listen(`silent-${index}`, () => undefined);
for (;;) {
  const closes = Object.entries(kinds).flatMap(([kind, onSocket]) =>
    Array.from({ length: ofEachKind }, (_, index) => listen(`${kind}-${index}`, onSocket)),
  );
  await sleep(8000);
  for (const close of closes) close();
  process.stdout.write('round\n');
}
