import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How this machine reaches others. */
export interface Uplink {
  /**
   * The smallest MTU of the interfaces with a default route. Undefined without such an interface, or if the kernel does
   * not tell its MTU.
   */
  readonly mtu: number | undefined;
  /** Interfaces with a default route of IPv6. */
  readonly ipv6Devices: readonly string[];
}

/** Reads the uplink in the network namespace of this process. Never rejects. */
export async function readUplink(procFolder = '/proc', sysFolder = '/sys'): Promise<Uplink> {
  const read = (file: string): Promise<string> => readFile(join(procFolder, file), 'utf8').catch(() => '');
  const [ipv4, ipv6] = await Promise.all([read('net/route'), read('net/ipv6_route')]);
  const ipv6Devices = defaultIPv6Devices(ipv6);
  const devices = [...new Set([...defaultIPv4Devices(ipv4), ...ipv6Devices])];
  const mtus = await Promise.all(
    devices.map(async (device) => {
      // Follows the MTU of the interface. /sys shows the network namespace that mounted it, which may be another.
      const text = (await read(`sys/net/ipv6/conf/${device}/mtu`)) || (await readMTU(sysFolder, device));
      return Number(text);
    }),
  );
  const known = mtus.filter((mtu) => mtu > 0);
  return { mtu: known.length === 0 ? undefined : Math.min(...known), ipv6Devices };
}

const readMTU = (sysFolder: string, device: string): Promise<string> =>
  readFile(join(sysFolder, 'class/net', device, 'mtu'), 'utf8').catch(() => '');

function defaultIPv4Devices(procNetRoute: string): string[] {
  return procNetRoute.split('\n').flatMap((line) => {
    const [device = '', destination, , , , , , mask] = line.trim().split(/\s+/);
    return destination === '00000000' && mask === '00000000' ? [device] : [];
  });
}

/** Columns: destination and its prefix length, source and its prefix length, gateway, four numbers, interface. */
function defaultIPv6Devices(procNetIPv6Route: string): string[] {
  return procNetIPv6Route.split('\n').flatMap((line) => {
    const [destination = '', length, , , , , , , , device = ''] = line.trim().split(/\s+/);
    // The kernel has a default route on lo that rejects everything.
    return /^0+$/.test(destination) && length === '00' && device !== 'lo' ? [device] : [];
  });
}
