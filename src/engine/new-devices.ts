import { join } from 'node:path';
import type { Plugins } from '../plugins/types.ts';
import { NodeDevices } from './container-manager/device-manager/node-devices.ts';
import type { KubeletDeps } from './kubelet-deps.ts';

type DevicesDeps = ConstructorParameters<typeof NodeDevices>[0];

interface Engine extends Pick<DevicesDeps, 'activePods' | 'sourcesReady' | 'managers' | 'onAdmissible'> {
  deps: KubeletDeps;
  plugins: Plugins;
  syncPods: (podUIDs: ReadonlySet<string>) => void;
}

/** Makes the part for devices of plugins. */
export function newDevices({ deps: { node, clock, faults, logger }, syncPods, ...engine }: Engine): NodeDevices {
  return new NodeDevices({
    ...engine,
    folder: join(node.rootDir, 'device-plugins'),
    onHealthChanged: node.featureGates.ResourceHealthStatus ? syncPods : undefined,
    clock,
    faults,
    logger: logger.child({ component: 'device-manager' }),
  });
}
