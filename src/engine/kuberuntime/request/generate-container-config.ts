import { expand } from '../../../api/values/expand.ts';
import type { Container, Pod } from '../../../api/types.ts';
import type { ContainerConfig } from '../../../cri/types.ts';
import { containerAnnotations, containerLabels } from './container-annotations.ts';
import type { EnvironmentVariable } from './environment.ts';
import { containerResources, type NodeResources } from './linux-resources.ts';
import { containerLogPath } from '../../container/log-paths.ts';
import { stopSignalOf } from '../../container/stop-signal.ts';
import type { UserNamespace } from '../../userns/user-namespaces.ts';
import {
  containerSecurityContext,
  type ImageUser,
  type PodSecurity,
  type SecurityNode,
  verifyRunAsNonRoot,
} from './security-context.ts';

type Mounts = NonNullable<ContainerConfig['mounts']>;

export interface ContainerRequest {
  pod: Pod;
  container: Container;
  restartCount: number;
  /** Image id of the resolved image name. */
  imageRef: string;
  imageUser: ImageUser;
  /** From `makeEnvironment`; variables of device plugins first. */
  envs: readonly EnvironmentVariable[];
  mounts?: Mounts;
  devices?: NonNullable<ContainerConfig['devices']>;
  /** Names of CDI devices. */
  cdiDevices?: readonly string[];
  /** Annotations of device plugins. */
  annotations?: Readonly<Record<string, string>>;
  security?: PodSecurity;
  /** Names of the pod's containers that have CPUs for themselves. */
  exclusiveCPUs?: ReadonlySet<string> | undefined;
  node: ContainerNode;
}

/** Settings of the node for a container's configuration. */
export interface ContainerNode extends SecurityNode {
  resources: NodeResources;
}

/**
 * The CreateContainer request's configuration. Throws a `UserError` if the container is not allowed; its waiting reason
 * is then CreateContainerConfigError. kubelet: kuberuntime/kuberuntime_container.go generateContainerConfig
 */
export function generateContainerConfig(request: ContainerRequest): ContainerConfig {
  const { pod, container, restartCount, imageUser, envs, node, security = {} } = request;
  const { stopSignal } = container.lifecycle ?? {};
  verifyRunAsNonRoot(pod, container, imageUser);
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: request.imageRef, userSpecifiedImage: container.image ?? '' },
    ...expandContainerCommandAndArgs(container, envs),
    workingDir: container.workingDir ?? '',
    envs: envs.map(({ name, value }) => ({ key: name, value: Buffer.from(value) })),
    mounts: mappedMounts(request.mounts ?? [], security.userNamespace),
    devices: request.devices ?? [],
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(pod, container, restartCount, request.annotations),
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    ...(stopSignal !== undefined && { stopSignal: stopSignalOf(stopSignal) }),
    linux: {
      resources: containerResources(pod, container, node.resources, request.exclusiveCPUs),
      securityContext: containerSecurityContext(pod, container, imageUser, node, security),
    },
    CDIDevices: (request.cdiDevices ?? []).map((name) => ({ name })),
  };
}

/**
 * Maps owners so that host files have the same owners inside a user namespace. kubelet:
 * kuberuntime/kuberuntime_container_linux.go applyPlatformSpecificContainerConfig
 */
function mappedMounts(mounts: Mounts, userNamespace: UserNamespace | undefined): Mounts {
  if (userNamespace === undefined) return mounts;
  const { uids = [], gids = [] } = userNamespace;
  return mounts.map((mount) => ({ ...mount, uidMappings: uids, gidMappings: gids }));
}

/**
 * Replaces the `$(VAR)` references in command and args. Keeps unknown references as written. kubelet:
 * container/helpers.go ExpandContainerCommandAndArgs
 */
export function expandContainerCommandAndArgs(
  { command = [], args = [] }: Pick<Container, 'command' | 'args'>,
  envs: readonly EnvironmentVariable[],
): { command: string[]; args: string[] } {
  const values = new Map(envs.map(({ name, value }) => [name, value]));
  const expanded = (word: string): string => expand(word, (name) => values.get(name));
  return { command: command.map(expanded), args: args.map(expanded) };
}
