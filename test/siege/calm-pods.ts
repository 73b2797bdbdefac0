import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { type Agent, isReady, nodeName } from '../e2e/agent.ts';
import { makePod, serve, shell } from '../e2e/manifests.ts';

export const calmPodCount = 20;
const nameOf = (index: number): string => `calm-${index}`;
const slow = { periodSeconds: 10, timeoutSeconds: 5 };

/** Pods that nobody attacks: on the host network and on their own, with liveness probes of each kind and without. */
export function calmManifests(): Record<string, object> {
  return Object.fromEntries(
    Array.from({ length: calmPodCount }, (_, index) => [`${nameOf(index)}.yaml`, calmPod(index)]),
  );
}

function calmPod(index: number): object {
  switch (index % 5) {
    case 0:
      return makePod(nameOf(index), {
        hostNetwork: false,
        containers: [
          shell('main', 'httpd -f -p 8080 -h /tmp', { livenessProbe: { tcpSocket: { port: 8080 }, ...slow } }),
        ],
      });
    case 1:
      return makePod(nameOf(index), {
        containers: [
          shell('main', serve, { livenessProbe: { exec: { command: ['true'] }, ...slow, periodSeconds: 30 } }),
        ],
      });
    default:
      return makePod(nameOf(index), { containers: [shell('main', serve)] });
  }
}

/** What does not change of a pod that is left in peace. */
export interface CalmPod {
  readonly name: string;
  readonly uid: string;
  readonly startTime: string;
  readonly containerID: string;
  readonly restartCount: number;
  readonly isReady: boolean;
}

/** All calm pods as the engine shows them, by name. */
export function calmPodsOf(pods: readonly PodSnapshot[]): CalmPod[] {
  return pods.filter(({ pod }) => pod.metadata.name.startsWith('calm-')).map(calmPodOf);
}

function calmPodOf(snapshot: PodSnapshot): CalmPod {
  const { metadata, status } = snapshot.pod;
  const [container] = status?.containerStatuses ?? [];
  return {
    name: metadata.name.replace(`-${nodeName}`, ''),
    uid: metadata.uid,
    startTime: status?.startTime ?? '',
    containerID: container?.containerID ?? '',
    restartCount: container?.restartCount ?? NaN,
    isReady: isReady(snapshot),
  };
}

/** Resolves when all of them are ready, to all of them. */
export async function calmPodsReady(agent: Agent): Promise<CalmPod[]> {
  const { pods } = await agent.until((snapshot) => {
    const calm = calmPodsOf(snapshot.pods);
    return calm.length === calmPodCount && calm.every((pod) => pod.isReady);
  });
  return calmPodsOf(pods);
}
