import type { Pod } from '../src/api/types.ts';
import { podUIDHash } from '../src/engine/config/load-manifest.ts';
import { loadPod } from '../test/builders/load-pod.ts';

export const benchImage = 'localhost/busybox:1';
export const containerName = 'main';

/** As many as the chain has before its container. */
const initContainers = 5;

/** The pod that most is measured with: one small container on the host's network, which ends at SIGTERM. */
export function benchManifest(name: string): string {
  return JSON.stringify(benchObject(name));
}

/** The same pod, with init containers before it that end at once. */
export function initChainManifest(name: string): string {
  const { spec, ...pod } = benchObject(name);
  const steps = Array.from({ length: initContainers }, (_, index) => ({
    ...image,
    name: `step-${index + 1}`,
    command: ['true'],
  }));
  return JSON.stringify({ ...pod, spec: { ...spec, initContainers: steps } });
}

const image = { image: benchImage, imagePullPolicy: 'IfNotPresent' };

function benchObject(name: string): { spec: object } {
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' } },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 5,
      containers: [
        { ...image, name: containerName, command: ['sh', '-c', "trap 'exit 0' TERM; sleep 1000000 & wait"] },
      ],
    },
  };
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
        ...image,
        name: container,
        env: [{ name: 'ROLE', value: container }],
        // Nothing of cpu: a small machine has not a thousandth for each of so many.
        resources: { requests: { memory: '1Mi' } },
      })),
    },
  });
}

/** The pod of a manifest as the engine sees it. */
export function benchPod(manifest: string): Pod {
  const { pod } = loadPod(manifest, { origin: 'bench', nodeName: 'bench', source: 'file', hash: podUIDHash });
  if (pod === undefined) throw new Error('the manifest of the benchmark is refused');
  return pod;
}
