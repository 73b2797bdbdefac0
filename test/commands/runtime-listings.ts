import { PassThrough, Writable } from 'node:stream';
import type { CommandDeps } from '../../src/commands/io/deps.ts';
import { ContainerStatus } from '../../src/cri/generated/cri.ts';
import type { ImageService } from '../../src/cri/image-service.ts';
import type { RuntimeService } from '../../src/cri/runtime-service.ts';
import type { Container, PodSandbox } from '../../src/cri/types.ts';

/** A ready sandbox of a pod in namespace default, with `changes`. */
export function makeSandbox(changes: Partial<PodSandbox> & { name: string; namespace?: string }): PodSandbox {
  const { name, namespace = 'default', ...rest } = changes;
  return {
    id: `sandbox-${name}`,
    metadata: { name, namespace, uid: `uid-${name}`, attempt: 0 },
    state: 'SANDBOX_READY',
    createdAt: 1n,
    labels: {},
    annotations: {},
    runtimeHandler: '',
    ...rest,
  };
}

/** A running container with `changes`. */
export function makeContainer(changes: Partial<Container> & { id: string; name: string }): Container {
  const { name, ...rest } = changes;
  return {
    podSandboxId: 'sandbox',
    metadata: { name, attempt: 0 },
    image: undefined,
    imageRef: '',
    state: 'CONTAINER_RUNNING',
    createdAt: 1n,
    labels: { 'io.kubernetes.container.name': name },
    annotations: {},
    imageId: '',
    ...rest,
  };
}

/**
 * A runtime that lists these. The log of a container is at `logPaths`, by its id. Exec and Attach answer with
 * `execUrl`.
 */
export function makeRuntime(
  sandboxes: readonly PodSandbox[],
  containers: readonly Container[],
  { logPaths = {}, execUrl = '' }: { logPaths?: Record<string, string>; execUrl?: string } = {},
): RuntimeService {
  const runtime: Partial<RuntimeService> = {
    listPodSandbox: () => Promise.resolve({ items: [...sandboxes] }),
    listContainers: (request) => {
      const name = request?.filter?.labelSelector?.['io.kubernetes.container.name'];
      const uid = request?.filter?.labelSelector?.['io.kubernetes.pod.uid'];
      const matching = containers.filter(
        ({ labels }) =>
          (!name || labels['io.kubernetes.container.name'] === name) &&
          (labels['io.kubernetes.pod.uid'] ?? uid) === uid,
      );
      return Promise.resolve({ containers: matching });
    },
    containerStatus: (request) => {
      const id = request?.containerId ?? '';
      return Promise.resolve({ status: ContainerStatus.fromPartial({ id, logPath: logPaths[id] ?? '' }), info: {} });
    },
    exec: () => Promise.resolve({ url: execUrl }),
    attach: () => Promise.resolve({ url: execUrl }),
  };
  return runtime as RuntimeService;
}

/** Deps of a command over `runtime`, with what it printed and the exit code it set. */
export function makeDeps(
  runtime: RuntimeService,
  changes: Partial<CommandDeps> = {},
): CommandDeps & { printed: { stdout: string; stderr: string; exitCode: number | undefined } } {
  const printed: { stdout: string; stderr: string; exitCode: number | undefined } = {
    stdout: '',
    stderr: '',
    exitCode: undefined,
  };
  const into = (name: 'stdout' | 'stderr'): Writable =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        printed[name] += chunk.toString();
        done();
      },
    });
  return {
    connect: () =>
      Promise.resolve({
        runtime,
        images: {} as ImageService,
        listAllContainers: runtime.listContainers,
        close: () => undefined,
      }),
    stdin: new PassThrough(),
    stdout: into('stdout'),
    stderr: into('stderr'),
    setExitCode: (exitCode) => {
      printed.exitCode = exitCode;
    },
    ...changes,
    printed,
  };
}
