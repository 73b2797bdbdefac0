import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { leadsNowhere, readResolvers } from '../../../src/engine/network/resolvers.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test.each([
  [['127.0.0.53'], true],
  [['127.0.0.1', '::1'], true],
  [['0.0.0.0'], true],
  [['0:0:0:0:0:0:0:1'], true],
  [['::ffff:127.0.0.1'], true],
  [['127.0.0.53', '192.0.2.53'], false],
  [['192.0.2.53'], false],
  [['169.254.169.253'], false],
  [['fe80::1%eth0'], true],
  [['FE80::1'], true],
  [[], true],
])('the servers %j lead nowhere: %s', (servers, expected) => {
  expect(leadsNowhere({ servers })).toBe(expected);
});

test('a resolver file that is missing is an error that names it and the flag', async () => {
  const missing = join(await temporaryFolder(), 'resolv.conf');
  await expect(readResolvers(missing)).rejects.toMatchObject({
    name: 'UserError',
    message: `cannot read the resolver file of this node: ENOENT: no such file or directory, open '${missing}'`,
    hint: 'Create the file, or name another one: kubelet-ts run --resolv-conf FILE',
  });
});

test.each([
  ['those of the node', ['192.0.2.1'], ['192.0.2.53'], ['192.0.2.1']],
  ['those of the node that they can reach', ['127.0.0.1', '192.0.2.1'], ['192.0.2.53'], ['192.0.2.1']],
  ['those behind a local resolver', ['127.0.0.53'], ['127.0.0.1', '192.0.2.53'], ['192.0.2.53']],
  ['those behind a local resolver, for a router without an address', ['fe80::1%eth0'], ['192.0.2.53'], ['192.0.2.53']],
  ['those behind a local resolver, for an empty file', [], ['192.0.2.53'], ['192.0.2.53']],
  ['those of the node, if the local resolver names only itself', ['127.0.0.53'], ['127.0.0.1'], ['127.0.0.53']],
])('pods with their own network use %s', async (_which, own, behind, servers) => {
  const folder = await temporaryFolder();
  const [resolvConf, missing, upstream] = [
    join(folder, 'resolv.conf'),
    join(folder, 'missing'),
    join(folder, 'upstream'),
  ];
  const text = (addresses: string[]): string => addresses.map((address) => `nameserver ${address}\n`).join('');
  await writeFile(resolvConf, `${text(own)}search corp.example\n`);
  await writeFile(upstream, `${text(behind)}search other.example\n`);
  const host = { servers: own, searches: ['corp.example'], options: [] };
  expect(await readResolvers(resolvConf, [missing, upstream])).toEqual({ host, ownNetwork: { ...host, servers } });
});
