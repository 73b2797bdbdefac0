import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forOwnNetwork, leadsNowhere, readResolvers } from '../../../src/engine/network/resolvers.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const config = (...servers: string[]) => ({ servers, searches: ['corp.example'], options: ['edns0'] });

test.each([
  [['127.0.0.53'], true],
  [['127.0.0.1', '::1'], true],
  [['0.0.0.0'], true],
  [['0:0:0:0:0:0:0:1'], true],
  [['::ffff:127.0.0.1'], true],
  [['127.0.0.53', '192.0.2.53'], false],
  [['192.0.2.53'], false],
  [['fe80::1%eth0'], false],
  [[], false],
])('the servers %j lead nowhere: %s', (servers, expected) => {
  expect(leadsNowhere({ servers })).toBe(expected);
});

test.each([
  [
    'the servers of the other file replace loopback',
    config('127.0.0.53'),
    config('192.0.2.53', 'fe80::1%e'),
    ['192.0.2.53', 'fe80::1%e'],
  ],
  [
    'a loopback server of the other file is left out',
    config('127.0.0.53'),
    config('127.0.0.1', '192.0.2.53'),
    ['192.0.2.53'],
  ],
  ['nothing changes without a server that leads somewhere', config('127.0.0.53'), config('127.0.0.1'), ['127.0.0.53']],
  ['nothing changes without the other file', config('127.0.0.53'), undefined, ['127.0.0.53']],
  [
    'a server that is not on loopback is enough',
    config('127.0.0.1', '192.0.2.1'),
    config('192.0.2.53'),
    ['127.0.0.1', '192.0.2.1'],
  ],
])('%s', (_what, host, upstream, servers) => {
  expect(forOwnNetwork(host, upstream)).toEqual({ ...host, servers });
});

test('a resolver file that is missing is an error that names it and the flag', async () => {
  const missing = join(await temporaryFolder(), 'resolv.conf');
  await expect(readResolvers(missing)).rejects.toMatchObject({
    name: 'UserError',
    message: `cannot read the resolver file of this node: ENOENT: no such file or directory, open '${missing}'`,
    hint: 'Create the file, or name another one: kubelet-ts run --resolv-conf FILE',
  });
});

test('the other file is only read where it is needed, and may be missing', async () => {
  const folder = await temporaryFolder();
  const [own, upstream] = [join(folder, 'resolv.conf'), join(folder, 'upstream.conf')];
  await writeFile(own, 'nameserver 127.0.0.53\nsearch corp.example\n');
  const host = { servers: ['127.0.0.53'], searches: ['corp.example'], options: [] };
  expect(await readResolvers(own, upstream)).toEqual({ host, ownNetwork: host });
  await writeFile(upstream, 'nameserver 192.0.2.53\nsearch other.example\n');
  expect(await readResolvers(own, upstream)).toEqual({ host, ownNetwork: { ...host, servers: ['192.0.2.53'] } });
  await writeFile(own, 'nameserver 192.0.2.1\n');
  const direct = { servers: ['192.0.2.1'], searches: [], options: [] };
  expect(await readResolvers(own, folder)).toEqual({ host: direct, ownNetwork: direct });
});
