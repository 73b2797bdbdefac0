import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PodSpec } from '../../../src/api/types.ts';
import { podSandboxConfig } from '../../../src/engine/kuberuntime/pod-sandbox-config.ts';
import { makeNodeConfig } from '../../builders/node-config.ts';
import { makePod } from '../../builders/pods.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('a runtime is asked for sysctls by their names with dots, however the manifest writes them', async () => {
  const sysctls = [
    { name: 'kernel.shm_rmid_forced', value: '1' },
    { name: 'net/ipv4/ping_group_range', value: '0 1000' },
    { name: 'net/ipv4/conf/eth0.1/rp_filter', value: '2' },
    { name: 'net.ipv4.conf.eth0/2.rp_filter', value: '3' },
  ];
  const pod = makePod({ spec: { securityContext: { sysctls } } });
  const { linux } = await podSandboxConfig(pod, 0, makeNodeConfig(await temporaryFolder()));
  expect(linux?.sysctls).toEqual({
    'kernel.shm_rmid_forced': '1',
    'net.ipv4.ping_group_range': '0 1000',
    'net.ipv4.conf.eth0/1.rp_filter': '2',
    'net.ipv4.conf.eth0/2.rp_filter': '3',
  });
});

test.each<[which: string, spec: Partial<PodSpec>, expected: string[]]>([
  ['with a network of its own', {}, ['NoReachableNameServer']],
  ['on the network of the host', { hostNetwork: true }, []],
  ['with servers of its own', { dnsPolicy: 'None', dnsConfig: { nameservers: ['127.0.0.1'] } }, []],
  ['with one more server', { dnsConfig: { nameservers: ['192.0.2.53'] } }, []],
])('a pod %s is warned of servers that it cannot reach: %j', async (_which, spec, expected) => {
  const folder = await temporaryFolder();
  const resolvConf = join(folder, 'resolv.conf');
  await writeFile(resolvConf, 'nameserver 127.0.0.1\n');
  const warned: string[] = [];
  const recorder = { normal: () => undefined, warning: (reason: string) => warned.push(reason) };
  const pod = makePod({ spec: { hostNetwork: false, ...spec } });
  await podSandboxConfig(pod, 0, { ...makeNodeConfig(folder), clusterDNS: [], resolvConf }, recorder);
  expect(warned).toEqual(expected);
});
