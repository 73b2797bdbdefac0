import type { Service } from '../../src/api/values/service.ts';
import type { PodDirs } from '../../src/engine/host/pod-dirs.ts';
import { Services } from '../../src/engine/services/services.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentFaults } from '../fakes/silent-faults.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

/** A Service that selects the pods with `app: NAME` and has the port 80. */
export function makeService(name: string, more: Partial<Service> = {}): Service {
  return {
    kind: 'Service',
    namespace: 'default',
    name,
    type: 'ClusterIP',
    clusterIPs: [],
    ipFamilies: [],
    ipFamilyPolicy: 'SingleStack',
    ports: [makePort({})],
    selector: { app: name },
    publishNotReadyAddresses: false,
    affinitySeconds: 0,
    internalTrafficPolicy: 'Cluster',
    externalTrafficPolicy: 'Cluster',
    choosesNodePorts: more.type === 'NodePort' || more.type === 'LoadBalancer',
    externalName: '',
    ...more,
  };
}

export function makePort(more: Partial<Service['ports'][number]>): Service['ports'][number] {
  return { name: '', protocol: 'TCP', port: 80, targetPort: 80, nodePort: 0, ...more };
}

/** A Service whose names lead to the pods themselves. */
export const headless = (name: string, more: Partial<Service> = {}): Service =>
  makeService(name, { clusterIPs: ['None'], ports: [], ...more });

/** A node without Services, so hosts files are written unchanged. */
export function noServices(podDirs: PodDirs): Services {
  return new Services({
    declared: { services: () => [], serviceAddresses: () => [] },
    network: undefined,
    areSourcesSeen: () => true,
    pods: () => [],
    isTerminating: () => false,
    runningPods: () => [],
    statusOf: () => undefined,
    podDir: (uid) => podDirs.podDir(uid),
    nodeIPs: () => [],
    clusterDomain: '',
    rootDir: '',
    emit: () => undefined,
    clock: new FakeClock(),
    faults: silentFaults(),
    logger: silentLogger,
  });
}
