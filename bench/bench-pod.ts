import type { Pod } from '../src/api/types.ts';
import { podUIDHash } from '../src/engine/config/load-manifest.ts';
import { loadPod } from '../test/builders/load-pod.ts';

export const benchImage = 'localhost/busybox:1';
/** In the project's folder. */
export const imageArchive = '.cache/images/busybox.tar';
export const containerName = 'main';

/** Number of init containers in the chain. */
const initContainers = 5;

/** The pod for most measures: one small container on the host network that exits on SIGTERM. */
export function benchManifest(name: string): string {
  return JSON.stringify(benchObject(name));
}

/** A job that does nothing. */
export function jobManifest(name: string): string {
  const { spec, ...pod } = benchObject(name);
  const containers = [{ ...image, name: containerName, command: ['true'] }];
  return JSON.stringify({ ...pod, spec: { ...spec, restartPolicy: 'Never', containers } });
}

/** The same pod on a separate network. */
export function networkManifest(name: string): string {
  const { spec, ...pod } = benchObject(name);
  return JSON.stringify({ ...pod, spec: { ...spec, hostNetwork: false } });
}

/** The same pod with init containers that exit at once. */
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
        // No cpu request, because a small machine does not have even a thousandth of a core for each pod.
        resources: { requests: { memory: '1Mi' } },
      })),
    },
  });
}

/** Returns the pod of a manifest as the engine sees it. */
export function benchPod(manifest: string): Pod {
  const { pod } = loadPod(manifest, { origin: 'bench', nodeName: 'bench', source: 'file', hash: podUIDHash });
  if (pod === undefined) throw new Error('the manifest of the benchmark is refused');
  return pod;
}
