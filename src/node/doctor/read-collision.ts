import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { confFileName, describeCollision, hasPods } from '../../containerd/cni-config.ts';
import { collidingRoute, parseRoutes, parseSubnet } from '../../containerd/cni-subnet.ts';
import { isCutOff, newBridge } from '../../containerd/restore-bridge.ts';
import { managedPaths } from '../../containerd/managed-paths.ts';
import { bridgeNetworkOf } from '../../containerd/subnet-reservations.ts';
import type { Facts } from './checks/facts.ts';
import type { Fact } from './checks/finding.ts';

type Collision = Facts['collision'] extends Fact<infer T> ? T : never;

/** Finds a route of this machine that overlaps the subnet of our bridge, or that the bridge itself has none. */
export async function readCollision(rootDir: string): Promise<Collision> {
  const network = await bridgeNetworkOf(join(managedPaths(rootDir).cniConfDir, confFileName));
  if (network === undefined) return {};
  const { bridge, subnets } = network;
  if ((await isCutOff(network)) && (await hasPods(network)))
    return {
      sentence: `The bridge ${bridge} is down, has no address or was removed: its pods are cut off`,
      cure: newBridge,
    };
  const [subnet = ''] = subnets;
  const route = collidingRoute(parseSubnet(subnet), bridge, parseRoutes(await readFile('/proc/net/route', 'utf8')));
  return route === undefined ? {} : { sentence: describeCollision(subnet, bridge, route) };
}
