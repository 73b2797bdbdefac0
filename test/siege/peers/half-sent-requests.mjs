// Opens thousands of connections to a port, as any local user can: half a request line, headers that never end, a body
// that trickles, nothing at all. Drops them after some seconds and begins again. Arguments: port, connections at a
// time.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [port, count] = process.argv.slice(1).map(Number);
const openings = [
  'GET /hea',
  'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ',
  '',
  'POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx',
  'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n',
  `GET /${'a'.repeat(15_000)}`,
];
for (;;) {
  const sockets = new Set();
  for (let index = 0; index < count; index++) {
    const socket = connect(port, '127.0.0.1');
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.write(openings[index % openings.length]);
    if (index % 100 === 99) await sleep(20);
  }
  process.stdout.write(`${sockets.size}\n`);
  for (let second = 0; second < 8; second++) {
    await sleep(1000);
    for (const socket of sockets) if (Math.random() < 0.05) socket.write('x');
  }
  for (const socket of sockets) socket.destroy();
  await sleep(1000);
}
