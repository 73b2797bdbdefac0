// Serves manifests badly: each path another way. Argument: port.
import { createServer } from 'node:http';
import { clearInterval, setInterval, setTimeout } from 'node:timers';
import { gzipSync } from 'node:zlib';

const [port] = process.argv.slice(1).map(Number);
const pod = (name) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'localhost/busybox:1', command: ['sleep', '3600'] }],
    },
  });
const block = Buffer.alloc(64 * 1024, ' ');
const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024, 'a'));
/** By path: how often it was asked. */
const asked = new Map();

function pour(stream, bytes, total) {
  let left = total;
  const write = () => {
    while (left > 0 && !stream.destroyed) {
      left -= bytes.length;
      if (!stream.write(bytes)) return;
    }
    if (left <= 0) stream.end();
  };
  stream.on('drain', write).on('error', () => undefined);
  write();
}

const answers = {
  '/trickles': (response) => {
    const timer = setInterval(() => response.write(' '), 500);
    response.on('close', () => clearInterval(timer));
  },
  '/huge': (response) => pour(response, block, 100 * 1024 * 1024),
  '/bomb': (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
  '/hangs': () => undefined,
  '/redirects': (response) => response.writeHead(302, { location: '/redirects' }).end(),
  '/half': (response) => {
    response.writeHead(200, { 'content-length': 10_000 });
    response.write(pod('half').slice(0, 100));
    setTimeout(() => response.socket?.destroy(), 50);
  },
  // Good at first, so that there is a pod to lose.
  '/null-items': (response, count) =>
    response.end(count === 1 ? pod('from-url') : JSON.stringify({ apiVersion: 'v1', kind: 'List', items: null })),
  '/garbage': (response) => pour(response, Buffer.from('- [{"\x1b[2J\u202e: &a *a\n'), 1024 * 1024),
};

createServer((request, response) => {
  const count = (asked.get(request.url) ?? 0) + 1;
  asked.set(request.url, count);
  process.stdout.write(`${request.url}\n`);
  response.on('error', () => undefined);
  (answers[request.url] ?? (() => response.writeHead(404).end()))(response, count);
}).listen(port, '127.0.0.1');
