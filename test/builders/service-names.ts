import type { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import { ServiceNames } from '../../src/engine/service-names/service-names.ts';
import { silentFaults } from '../fakes/silent-faults.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

/** A node without Services, so hosts files are written unchanged. */
export function noServiceNames(podDirs: PodDirs): ServiceNames {
  return new ServiceNames({
    services: () => [],
    pods: () => [],
    isTerminating: () => false,
    runningPods: () => [],
    statusOf: () => undefined,
    podDir: (uid) => podDirs.podDir(uid),
    nodeIPs: () => [],
    clusterDomain: '',
    faults: silentFaults(),
    logger: silentLogger,
  });
}
