import { createServer } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { kubeletKind, listenersOn, readPort, wordsOf } from '../../../src/node/doctor/read-process-facts.ts';

test.each([
  [['/usr/bin/kubelet', '--config', 'x'], 'kubelet'],
  [['/usr/bin/node', '/opt/bin/kubelet-ts', 'run', 'pods/'], 'kubelet-ts'],
  [['node', '/opt/bin/kubelet', '--config'], 'kubelet-ts'],
  [['/usr/bin/node', '/opt/bin/kubelet-ts', 'ps'], undefined],
  [['vim', 'kubelet'], undefined],
  [['/usr/bin/kubelet-ts', 'run', 'pods/'], 'kubelet-ts'],
  [['kubelet-ts', 'ps'], undefined],
  [['node', '/opt/bin/kubelet', 'ps'], undefined],
  [[''], undefined],
])('the command line %j is of %s', (words, kind) => {
  expect(kubeletKind(words)).toBe(kind);
});

test.each([
  [['/usr/bin/kubelet', '--config', 'x'], '/opt/kubelet-ts', 'kubelet-ts'],
  [['kubelet', 'run', 'pods/'], '/opt/kubelet-ts', 'kubelet-ts'],
  [['kubelet'], '/opt/kubelet-ts (deleted)', 'kubelet-ts'],
  [['kubelet', 'ps'], '/opt/kubelet-ts', undefined],
  [['kubelet', '--config', 'x'], '/usr/bin/kubelet', 'kubelet'],
])('the command line %j of the executable %s is of %s', (words, executable, kind) => {
  expect(kubeletKind(words, executable)).toBe(kind);
});

test('the path of the program is the second word of a command line', () => {
  expect(wordsOf('node\0--\0/opt/bin/kubelet-ts\0exec\0web\0--\0ls')).toEqual([
    'node',
    '/opt/bin/kubelet-ts',
    'exec',
    'web',
    '--',
    'ls',
  ]);
});

test('only sockets that listen on the port count', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:2808 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1',
    '   1: 0100007F:2808 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 222 1',
    '   2: 00000000:280A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1',
  ].join('\n');
  expect(listenersOn(10248, table)).toEqual(['111']);
});

test('the program that holds a port is named, and a free port has none', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const taken = await readPort({ port, flag: '--port' });
  server.close();
  await once(server, 'close');
  expect([taken.holder?.pid, await readPort({ port, flag: '--port' })]).toEqual([
    process.pid,
    { port, flag: '--port' },
  ]);
});
