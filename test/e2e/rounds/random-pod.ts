import type { Container, PodSpec, Volume } from '../../../src/api/types.ts';
import type { SeededRandom } from '../../builders/seeded-random.ts';
import { makePod, serve, shell } from '../manifests.ts';

/** What random pods use that is not random. */
export interface PodSurroundings {
  /** A node port reserved for this pod. */
  readonly hostPort: number;
  /** A folder of the machine that pods may mount. */
  readonly hostFolder: string;
}

/**
 * Returns a pod of any possible shape, which may never become ready. A ConfigMap and a Secret named `shared` exist next
 * to it.
 */
export function randomPod(name: string, random: SeededRandom, { hostPort, hostFolder }: PodSurroundings): object {
  const volumes = random.times(0, 4, (index) => ({ name: `volume-${index}`, ...randomVolume(random, hostFolder) }));
  const hostNetwork = random.chance(0.4);
  const container = (containerName: string, more: Partial<Container> = {}): Container =>
    randomContainer(containerName, random, volumes, more);
  const containers = random.times(1, 3, (index) => container(`app-${index}`));
  const [first] = containers;
  if (first !== undefined && !hostNetwork && random.chance(0.4)) first.ports = [{ containerPort: 8080, hostPort }];
  const initContainers = random.times(0, 2, (index) =>
    random.chance(0.4)
      ? container(`sidecar-${index}`, { restartPolicy: 'Always' })
      : shell(`init-${index}`, random.pick(['true', 'true', 'sleep 0.2', 'exit 1']), {
          volumeMounts: mountsOf(random, volumes),
        }),
  );
  const spec: Omit<PodSpec, 'containers'> = {
    volumes,
    hostNetwork,
    initContainers,
    restartPolicy: random.pick(['Always', 'Always', 'OnFailure', 'Never']),
    terminationGracePeriodSeconds: random.pick([0, 1, 1, 2]),
    shareProcessNamespace: random.chance(0.2),
    ...(random.chance(0.2) && { securityContext: { runAsUser: 1000, fsGroup: 2000 } }),
  };
  return makePod(name, { ...spec, containers });
}

function randomVolume(random: SeededRandom, hostFolder: string): Omit<Volume, 'name'> {
  const item = { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } };
  return random.pick([
    { emptyDir: {} },
    { emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    { hostPath: { path: hostFolder, type: 'DirectoryOrCreate' } },
    { configMap: { name: 'shared' } },
    { secret: { secretName: 'shared' } },
    { downwardAPI: { items: [item] } },
    { projected: { sources: [{ configMap: { name: 'shared' } }, { downwardAPI: { items: [item] } }] } },
    // One that never appears.
    { configMap: { name: 'nobody-declares-it', optional: random.chance(0.7) } },
  ]);
}

/** What the containers do: most serve, some exit, some ignore the request to stop, some crash again and again. */
const scripts = [serve, serve, serve, 'sleep 0.3', 'exit 3', 'trap "" TERM; while :; do sleep 1; done'] as const;

function randomContainer(
  name: string,
  random: SeededRandom,
  volumes: readonly Volume[],
  more: Partial<Container>,
): Container {
  const probe = { exec: { command: [random.pick(['true', 'true', 'false'])] }, periodSeconds: 1 };
  const hook = { exec: { command: random.pick([['true'], ['false'], ['sleep', '0.2']]) } };
  return shell(name, random.pick(scripts), {
    volumeMounts: mountsOf(random, volumes),
    ...(random.chance(0.3) && { readinessProbe: probe }),
    ...(random.chance(0.2) && { livenessProbe: { ...probe, failureThreshold: 1 } }),
    ...(random.chance(0.2) && { startupProbe: { ...probe, failureThreshold: 2 } }),
    ...(random.chance(0.2) && { lifecycle: { preStop: hook } }),
    ...(random.chance(0.1) && { lifecycle: { postStart: hook } }),
    ...(random.chance(0.3) && { resources: { limits: { cpu: '200m', memory: '32Mi' } } }),
    ...(random.chance(0.1) && { securityContext: { privileged: true } }),
    ...(random.chance(0.05) && { image: 'localhost/no-such-image:1', imagePullPolicy: 'Never' }),
    ...more,
  });
}

function mountsOf(random: SeededRandom, volumes: readonly Volume[]): NonNullable<Container['volumeMounts']> {
  return volumes
    .filter(() => random.chance(0.8))
    .map(({ name, emptyDir }) => {
      const subPath = emptyDir !== undefined && random.chance(0.3) ? { subPath: 'part/of/it' } : {};
      const shares = emptyDir !== undefined && random.chance(0.2) ? { mountPropagation: 'HostToContainer' } : {};
      return { name, mountPath: `/mnt/${name}`, ...subPath, ...shares };
    });
}
