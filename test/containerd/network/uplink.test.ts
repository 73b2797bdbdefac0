import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readUplink } from '../../../src/containerd/network/uplink.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const ipv4 = (device: string): string => `${device}\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n`;
const zeros = '0'.repeat(32);
const ipv6 = (device: string): string => `${zeros} 00 ${zeros} 00 ${zeros} 00000400 1 0 00000001 ${device}\n`;

/** Folders with these files. */
async function machine(files: Readonly<Record<string, string>>): Promise<[string, string]> {
  const folder = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return [join(folder, 'proc'), join(folder, 'sys')];
}

test('finds the smallest MTU of the interfaces with a default route', async () => {
  const folders = await machine({
    'proc/net/route': `Iface\n${ipv4('eth0')}${ipv4('wlan0')}`,
    'proc/net/ipv6_route': `${ipv6('wwan0')}${ipv6('lo')}`,
    'proc/sys/net/ipv6/conf/eth0/mtu': '1500\n',
    'sys/class/net/wlan0/mtu': '1492\n',
    'proc/sys/net/ipv6/conf/wwan0/mtu': '1400\n',
  });
  expect(await readUplink(...folders)).toEqual({ mtu: 1400, ipv6Devices: ['wwan0'] });
});

test('knows nothing without a default route', async () => {
  const folders = await machine({
    'proc/net/route': 'Iface\neth0\t004D0A00\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n',
  });
  expect(await readUplink(...folders)).toEqual({ mtu: undefined, ipv6Devices: [] });
});
