import type { Container, Pod } from '../../api/types.ts';
import type { ConfigObjectLookup } from '../../api/values/config-object.ts';
import type { ContainerConfig, Image, PodSandboxConfig } from '../../cri/types.ts';
import { UserError } from '../../errors.ts';
import { settleAll } from '../../flow/settle-all.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { containerLogsDirectory } from '../container/log-paths.ts';
import { findContainerStatus, type RuntimePodStatus } from '../container/runtime-pod-status.ts';
import type { ContainerDevices } from '../container-manager/device-manager/container-devices.ts';
import type { NodeDevices } from '../container-manager/device-manager/node-devices.ts';
import type { ExclusiveCPUs } from '../container-manager/resource-managers/exclusive-cpus.ts';
import type { PodResources } from '../container-manager/resource-managers/pod-resources.ts';
import type { ContainerCpusets } from '../container-manager/resource-managers/resource-managers.ts';
import type { PodDirs } from '../host/pod-dirs.ts';
import type { Services } from '../services/services.ts';
import type { MountedVolume } from '../volumes/volume-mounter.ts';
import { containerMounts } from './container-mounts.ts';
import { readEnvFiles } from './env-files.ts';
import { makeEnvironment } from './request/environment.ts';
import { generateContainerConfig } from './request/generate-container-config.ts';
import type { RuntimeSettings } from './request/runtime-settings.ts';

export interface ContainerConfigDeps {
  podDirs: PodDirs;
  configObjects: ConfigObjectLookup;
  node: RuntimeSettings;
  /** True if the runtime supports recursive read-only mounts. */
  supportsRecursiveReadOnly: () => boolean;
  /** True if the runtime ignores CDI devices. */
  ignoresCDIDevices: () => boolean;
  /** True if the runtime mounts whole images in place of their subpaths. */
  ignoresImageSubPaths: () => boolean;
  /** CPUs and memory nodes of containers. Undefined if nothing is allocated to pods. */
  podResources?: Pick<PodResources, 'cpusetsOf'> | undefined;
  exclusiveCPUs: ExclusiveCPUs;
  /** Devices of plugins. Undefined if the node takes none. */
  devices?: Pick<NodeDevices, 'containerDevices'> | undefined;
  services: Pick<Services, 'variables' | 'writeHostsFile'>;
}

/** A container to create, and its pod. */
export interface ConfiguredContainer {
  pod: Pod;
  container: Container;
  podStatus: RuntimePodStatus;
  podIPs: readonly string[];
  sandboxConfig: PodSandboxConfig;
  volumes: ReadonlyMap<string, MountedVolume>;
}

/**
 * Creates the configuration of a container. Asks plugins for devices, writes the hosts file and creates the log folder.
 * Also resolves with the CPUs and memory nodes in the configuration. kubelet: kuberuntime_container.go
 * generateContainerConfig
 */
export async function containerConfig(
  deps: ContainerConfigDeps,
  configured: ConfiguredContainer,
  instance: { image: Image; restartCount: number },
): Promise<{ config: ContainerConfig; sets: ContainerCpusets | undefined }> {
  const { pod, container } = configured;
  const devices = await deps.devices?.containerDevices(pod, container);
  if (deps.ignoresImageSubPaths()) refuseImageSubPaths(configured);
  if (deps.ignoresCDIDevices()) refuseCDIDevices(devices?.cdiDevices ?? []);
  const sets = deps.podResources?.cpusetsOf(pod, container);
  const made = await makeConfig(deps, configured, { ...instance, devices });
  return withContainerSets(made, sets);
}

/** A container without the edits of its devices would start and not find them. */
function refuseCDIDevices(names: readonly string[]): void {
  if (names.length === 0) return;
  throw new UserError(`containerd 1.6 does not support CDI devices: ${names.join(', ')}`, {
    hint: 'Install containerd 1.7 or newer.',
  });
}

/** The container would find the whole image. */
function refuseImageSubPaths({ container, volumes }: ConfiguredContainer): void {
  for (const { name, subPath = '', subPathExpr = '' } of container.volumeMounts ?? []) {
    if (volumes.get(name)?.image === undefined || subPath + subPathExpr === '') continue;
    throw new UserError(`the container runtime cannot mount a subPath of the image volume "${name}"`);
  }
}

async function makeConfig(
  { podDirs, configObjects, node, supportsRecursiveReadOnly, services, exclusiveCPUs }: ContainerConfigDeps,
  { pod, container, podStatus, podIPs, volumes, sandboxConfig }: ConfiguredContainer,
  { image, restartCount, devices }: { image: Image; restartCount: number; devices: ContainerDevices | undefined },
): Promise<ContainerConfig> {
  const targetContainerID = targetID(pod, container, podStatus);
  const { allocatable } = node;
  const envFiles = await readEnvFiles(container, volumes);
  const own = makeEnvironment(pod, container, {
    podIPs,
    nodeIPs: node.nodeIPs(),
    allocatable,
    configObjects,
    envFiles,
    serviceVariables: await services.variables(pod),
  });
  const envs = [...(devices?.envs ?? []), ...own];
  const request = {
    pod,
    container,
    podIPs,
    envs,
    volumes,
    supportsRecursiveReadOnly: supportsRecursiveReadOnly(),
    podDir: podDirs.podDir(pod.metadata.uid),
    clusterDomain: node.clusterDomain,
    selinuxEnabled: node.selinuxEnabled,
  };
  const writeHostsFile: Services['writeHostsFile'] = (of, content) => services.writeHostsFile(of, content);
  const making = containerMounts(request, writeHostsFile);
  const logs = makeFolder(containerLogsDirectory(node.podLogsDir, pod.metadata, container.name), 0o755);
  const [mounts] = await settleAll([making, logs]);
  return generateContainerConfig({
    pod,
    container,
    restartCount,
    imageRef: image.id,
    imageUser:
      image.uid === undefined ? { username: image.username } : { uid: image.uid.value, username: image.username },
    envs,
    mounts: [...(devices?.mounts ?? []), ...mounts],
    ...(devices !== undefined && {
      devices: devices.devices,
      cdiDevices: devices.cdiDevices,
      annotations: devices.annotations,
    }),
    // All containers of a pod share its sandbox's user namespace.
    security: {
      userNamespace: sandboxConfig.linux?.securityContext?.namespaceOptions?.usernsOptions,
      targetContainerID,
    },
    exclusiveCPUs: exclusiveCPUs(pod),
    node: node.containerNode,
  });
}

/**
 * Adds the CPUs and memory nodes that the managers assigned to the container. kubelet:
 * cm/internal_container_lifecycle_linux.go PreCreateContainer
 */
function withContainerSets(
  config: ContainerConfig,
  sets: ContainerCpusets | undefined,
): { config: ContainerConfig; sets: ContainerCpusets | undefined } {
  if (sets === undefined) return { config, sets };
  const { cpusetCpus, cpusetMems } = sets;
  const resources = {
    ...config.linux?.resources,
    ...(cpusetCpus !== '' && { cpusetCpus }),
    ...(cpusetMems !== '' && { cpusetMems }),
  };
  return { config: { ...config, linux: { ...config.linux, resources } }, sets };
}

/**
 * Id of the container whose processes this ephemeral container sees. Returns undefined if it has no target. kubelet:
 * kuberuntime_container.go startSpec.getTargetID
 */
function targetID({ spec }: Pod, { name }: Container, podStatus: RuntimePodStatus): string | undefined {
  const ephemeral = spec.ephemeralContainers?.find((container) => container.name === name);
  const target = ephemeral?.targetContainerName ?? '';
  if (target === '') return undefined;
  const status = findContainerStatus(podStatus, target);
  if (status === undefined) throw new UserError(`unable to find target container ${target}`);
  return status.id;
}
