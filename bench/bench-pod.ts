import { loadPod } from '../src/api/load-pod.ts';
import type { Pod } from '../src/api/types.ts';
import { podUIDHash } from '../src/engine/config/manifest-file.ts';

export const benchImage = 'localhost/busybox:1';
export const containerName = 'main';

/** The pod that everything is measured with: one small container on the host's network, which ends at SIGTERM. */
export function benchManifest(name: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 5,
      containers: [
        {
          name: containerName,
          image: benchImage,
          imagePullPolicy: 'IfNotPresent',
          command: ['sh', '-c', "trap 'exit 0' TERM; sleep 1000000 & wait"],
        },
      ],
    },
  });
}

export const scaleContainers = ['main', 'helper', 'proxy'];

/** A pod of a runtime in which nothing is real. */
export function scaleManifest(name: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: name } },
    spec: {
      hostNetwork: true,
      containers: scaleContainers.map((container) => ({
        name: container,
        image: benchImage,
        imagePullPolicy: 'IfNotPresent',
        env: [{ name: 'ROLE', value: container }],
        resources: { requests: { cpu: '1m', memory: '1Mi' } },
      })),
    },
  });
}

/** The same pod as the engine sees it. */
export function benchPod(name: string): Pod {
  const { pod } = loadPod(benchManifest(name), { origin: name, nodeName: 'bench', source: 'file', hash: podUIDHash });
  if (pod === undefined) throw new Error('the manifest of the benchmark is refused');
  return pod;
}
