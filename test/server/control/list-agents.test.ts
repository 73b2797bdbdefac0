import { expect, test } from 'vitest';
import { agentsIn } from '../../../src/server/control/list-agents.ts';

test('the table of sockets lists agents by their control sockets, whose names a client keeps', () => {
  const row = (path: string): string => `00000000f6a84818: 00000002 00000000 00010000 0001 01 1910900${path}`;
  const table = [
    'Num       RefCount Protocol Flags    Type St Inode Path',
    row(' /run/kubelet-ts/sock.7'),
    row(' /run/kubelet-ts-control/default/sock.7'),
    row(' /tmp/two words/sock.8'),
    row(' /tmp/two words/sock.8'),
    row(' @/tmp/abstract/sock.9'),
    row(' /tmp/k/containerd/containerd.sock'),
    row(' /tmp/k/sock.x'),
    row(''),
  ].join('\n');
  expect(agentsIn(table)).toEqual([
    { rootDir: '/var/lib/kubelet-ts', pid: 7 },
    { rootDir: '/tmp/two words', pid: 8 },
  ]);
});
