import type { Pod } from '../src/api/types.ts';
import { podUIDHash } from '../src/engine/config/load-manifest.ts';
import { loadPod } from '../test/builders/load-pod.ts';

export const benchImage = 'localhost/busybox:1';
export const containerName = 'main';

/** Number of init containers in the chain. */
const initContainers = 5;

/** The pod of most measures: one small container on the host's network, which ends at SIGTERM. */
export function benchManifest(name: string): string {
  return JSON.stringify(benchObject(name));
}

/** A job that does nothing. */
export function jobManifest(name: string): string {
  const { spec, ...pod } = benchObject(name);
  const containers = [{ ...image, name: containerName, command: ['true'] }];
  return JSON.stringify({ ...pod, spec: { ...spec, restartPolicy: 'Never', containers } });
}

/** The same pod on a network of its own. */
export function networkManifest(name: string): string {
  const { spec, ...pod } = benchObject(name);
  return JSON.stringify({ ...pod, spec: { ...spec, hostNetwork: false } });
}

/** The same pod, with init containers that end at once. */
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

/** A pod for the fake runtime. */
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
        // No cpu request, because a small machine lacks even a thousandth for each pod.
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
