import { readFile } from 'node:fs/promises';
import { execa } from 'execa';
import { parseRoutes } from './cni-subnet.ts';
import type { BridgeNetwork } from './network/rules.ts';
import { interfaceNames } from './remove-bridge.ts';

const timeoutMs = 15_000;

/** True if the machine has no route to the pods on a bridge: it is down, has lost its address, or was removed. */
export async function isCutOff({ bridge }: BridgeNetwork): Promise<boolean> {
  return !parseRoutes(await readFile('/proc/net/route', 'utf8')).some(({ device }) => device === bridge);
}

/**
 * Gives a bridge that is cut off its addresses again, and sets it up. Resolves to false if it was removed: only new
 * pods make one. Rejects if `ip` fails.
 */
export async function restoreBridge({ bridge, subnets }: BridgeNetwork): Promise<boolean> {
  if (!(await interfaceNames()).includes(bridge)) return false;
  // The kernel takes the IPv6 addresses of an interface that goes down.
  await execa('ip', ['link', 'set', bridge, 'up'], { timeout: timeoutMs });
  for (const subnet of subnets) {
    await execa('ip', ['address', 'replace', gatewayOf(subnet), 'dev', bridge], { timeout: timeoutMs });
  }
  return true;
}

/** What to do about a bridge that was removed. */
export const newBridge = 'Stop and start each pod on it: kubelet-ts stop POD, then kubelet-ts start POD';

/** The first address of a subnet, with the length of its prefix. The plugin host-local gives it to the bridge. */
export function gatewayOf(subnet: string): string {
  const [network = '', length = ''] = subnet.split('/');
  if (network.endsWith('::')) return `${network}1/${length}`;
  const octets = network.split('.');
  return `${[...octets.slice(0, 3), Number(octets[3]) + 1].join('.')}/${length}`;
}
