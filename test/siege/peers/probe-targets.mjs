// Answers probes as nobody should: each path another way. Arguments: port of HTTP, port of bytes that are no HTTP, port
// that says nothing and leaves its connections open.
import { createServer } from 'node:http';
import { createServer as createTCPServer } from 'node:net';

const [port, otherPort, silentPort] = process.argv.slice(1).map(Number);
const block = Buffer.alloc(64 * 1024, 'x');

function pour(socket, bytes) {
  const write = () => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', write).on('error', () => undefined);
  write();
}

const raw = {
  '/endless-headers': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    pour(socket, Buffer.from(`X-Filler: ${'h'.repeat(1000)}\r\n`));
  },
  '/endless-header-line': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nX-Filler: ');
    pour(socket, block);
  },
  '/silent': () => undefined,
  '/escape': (socket) =>
    socket.end('HTTP/1.1 500 \x1b[2J\x1b]0;owned\x07\r\n\r\n\x1b[31mred\u202e\nlevel=error forged\n'),
  '/endless-1xx': (socket) => pour(socket, Buffer.from('HTTP/1.1 102 Processing\r\n\r\n')),
};

createServer((request, response) => {
  process.stdout.write(`${request.url}\n`);
  const answer = raw[request.url];
  request.socket.on('error', () => undefined);
  if (answer !== undefined) answer(request.socket);
  else if (request.url === '/endless-body') {
    response.writeHead(500);
    pour(response, block);
  } else if (request.url === '/redirects') response.writeHead(302, { location: '/redirects' }).end();
  else response.end();
}).listen(port, '127.0.0.1');

createTCPServer((socket) => pour(socket, block)).listen(otherPort, '127.0.0.1');

createTCPServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => undefined).resume()).listen(
  silentPort,
  '127.0.0.1',
);
