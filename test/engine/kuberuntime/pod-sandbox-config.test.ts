import { expect, test } from 'vitest';
import { podSandboxConfig } from '../../../src/engine/kuberuntime/pod-sandbox-config.ts';
import { makeNodeConfig } from '../../builders/node-config.ts';
import { makePod } from '../../builders/pods.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

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
