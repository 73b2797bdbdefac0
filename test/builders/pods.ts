import type { Container, ContainerStatus, Pod, PodSpec } from '../../src/api/types.ts';
import { containerHash } from '../../src/engine/container/container-hash.ts';
import type {
  RuntimeContainerStatus,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../../src/engine/container/runtime-pod-status.ts';

/** The time at which everything happened that builders create. */
export const NOW = Date.parse('2024-06-01T10:00:00Z');

/** A container that is complete enough for every decider. Its image is named after it. */
export function makeContainer(overrides: Partial<Container> = {}): Container {
  return { name: 'web', image: 'registry.example/web:1', ...overrides };
}

/** A static pod with one container. `spec`, `metadata` and `status` are merged one level deep. */
export function makePod(
  overrides: { metadata?: Partial<Pod['metadata']>; spec?: Partial<PodSpec>; status?: Pod['status'] } = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web-node1',
      namespace: 'default',
      uid: '11111111-2222-3333-4444-555555555555',
      annotations: { 'kubernetes.io/config.source': 'file' },
      ...overrides.metadata,
    },
    spec: { restartPolicy: 'Always', containers: [makeContainer()], ...overrides.spec },
    ...(overrides.status && { status: overrides.status }),
  };
}

/** A ready sandbox with an address. */
export function makeSandbox(overrides: Partial<RuntimeSandboxStatus> = {}): RuntimeSandboxStatus {
  return {
    id: 'sandbox-0',
    attempt: 0,
    state: 'ready',
    createdAt: NOW,
    networkMode: 'pod',
    ip: '10.88.0.2',
    ...overrides,
  };
}

/** A running instance of a container, created from the same spec, so that its hash is right. */
export function makeContainerStatus(
  container: Container = makeContainer(),
  overrides: Partial<RuntimeContainerStatus> = {},
): RuntimeContainerStatus {
  const state = overrides.state ?? 'running';
  return {
    id: `${container.name}-0`,
    name: container.name,
    state,
    createdAt: NOW,
    startedAt: state === 'created' ? 0 : NOW,
    finishedAt: state === 'exited' ? NOW : 0,
    exitCode: 0,
    image: container.image ?? '',
    imageRef: 'sha256:0123',
    hash: containerHash(container),
    restartCount: 0,
    reason: '',
    message: '',
    ...overrides,
  };
}

/** What the runtime reports about a pod. By default, one ready sandbox in which every regular container runs. */
export function makePodStatus(pod: Pod = makePod(), overrides: Partial<RuntimePodStatus> = {}): RuntimePodStatus {
  const { uid, name, namespace } = pod.metadata;
  return {
    uid,
    name,
    namespace,
    ips: ['10.88.0.2'],
    containerStatuses: pod.spec.containers.map((container) => makeContainerStatus(container)),
    sandboxStatuses: [makeSandbox()],
    ...overrides,
  };
}

/** A running container as the API shows it. */
export function makeAPIContainerStatus(overrides: Partial<ContainerStatus> = {}): ContainerStatus {
  const { name = 'web' } = overrides;
  return {
    name,
    state: { running: { startedAt: '2024-06-01T10:00:00Z' } },
    lastState: {},
    ready: false,
    restartCount: 0,
    image: 'registry.example/web:1',
    imageID: 'sha256:0123',
    containerID: `containerd://${name}-0`,
    ...overrides,
  };
}
