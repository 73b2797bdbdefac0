import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ContainerPort } from '../../../src/api/types.ts';
import { describeListener, findPortListeners } from '../../../src/engine/network/port-listeners.ts';
import { makePod } from '../../builders/pods.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const header = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const line = (local: string, state: string, inode: string): string =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0 100\n`;

/** A machine on which sshd listens on every address, dnsmasq on 127.0.0.1, and a client is connected. */
async function machine(): Promise<string> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'net'));
  await mkdir(join(folder, '812/fd'), { recursive: true });
  await writeFile(join(folder, '812/comm'), 'sshd\n');
  await symlink('socket:[4711]', join(folder, '812/fd/3'));
  await writeFile(
    join(folder, 'net/tcp'),
    header + line('00000000:0016', '0A', '4711') + line('0100007F:0050', '01', '5'),
  );
  await writeFile(join(folder, 'net/udp'), header + line('0100007F:0035', '07', '6'));
  return folder;
}

const podWith = (ports: ContainerPort[], hostNetwork = false) =>
  makePod({ spec: { hostNetwork, containers: [{ name: 'app', image: 'app', ports }] } });

test.each<[string, ContainerPort[], string[]]>([
  [
    'a program on every address',
    [{ containerPort: 22, hostPort: 22 }],
    ['sshd (PID 812) of this node listens on host port 22/TCP: the pod gets its packets while it runs'],
  ],
  [
    'a program that this user may not see',
    [{ containerPort: 53, hostPort: 53, protocol: 'UDP' }],
    ['another program of this node listens on host port 53/UDP: the pod gets its packets while it runs'],
  ],
  ['another protocol', [{ containerPort: 53, hostPort: 53, protocol: 'TCP' }], []],
  ['another address', [{ containerPort: 53, hostPort: 53, protocol: 'UDP', hostIP: '192.0.2.1' }], []],
  ['a socket that does not listen', [{ containerPort: 80, hostPort: 80 }], []],
  ['no host port', [{ containerPort: 22 }], []],
])('finds %s', async (_, ports, expected) => {
  expect((await findPortListeners(podWith(ports), await machine())).map(describeListener)).toEqual(expected);
});

test('a pod with the network of the node listens itself', async () => {
  const pod = podWith([{ containerPort: 22, hostPort: 22 }], true);
  expect(await findPortListeners(pod, await machine())).toEqual([]);
});
