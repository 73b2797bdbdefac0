import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PodSpec } from '../../../src/api/types.ts';
import { unreachableServers } from '../../../src/commands/validate/unreachable-servers.ts';
import { makePod } from '../../builders/pods.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test.each<[which: string, spec: Partial<PodSpec>, content: string | undefined, messages: string[]]>([
  ['that it can reach', {}, 'nameserver 192.0.2.53\n', []],
  [
    'on IPv6 link-local addresses',
    {},
    'nameserver fe80::1%eth0\n',
    ['FILE names no server that pods with their own network can reach: fe80::1%eth0'],
  ],
  ['on link-local addresses, on the network of the host', { hostNetwork: true }, 'nameserver fe80::1%eth0\n', []],
  ['of its own', { dnsConfig: { nameservers: ['192.0.2.53'] } }, '', []],
  ['of its own alone', { dnsPolicy: 'None' }, undefined, []],
  [
    'in a missing file',
    { hostNetwork: true },
    undefined,
    ["no pod can start: cannot read the resolver file of this node: ENOENT: no such file or directory, open 'FILE'"],
  ],
])('validate knows whether a pod can ask name servers %s', async (_which, spec, content, messages) => {
  const resolvConf = join(await temporaryFolder(), 'resolv.conf');
  if (content !== undefined) await writeFile(resolvConf, content);
  const found = await unreachableServers([makePod({ spec })], resolvConf);
  expect(found.map(({ message }) => message.replaceAll(resolvConf, 'FILE'))).toEqual(messages);
});
