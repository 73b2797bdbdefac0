import { Command } from 'commander';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Container, Pod } from '../src/api/types.ts';
import { nodeConfig } from '../src/node/node-config.ts';
import { addNodeOptions } from '../src/node/options/node-flags.ts';
import { type NodeFlags, nodeOptions } from '../src/node/options/node-options.ts';
import { findUserNamespaceIDs } from '../src/node/user-namespace-ids.ts';
import type { ContainerConfig, Image, PodSandboxConfig } from '../src/cri/types.ts';
import { readMachine } from '../src/engine/container-manager/machine.ts';
import { readCgroupDriver } from '../src/engine/container-manager/read-cgroup-driver.ts';
import { podEventRecorder } from '../src/engine/view/event-recorder.ts';
import { writeInPlace } from '../src/files/regular-file.ts';
import { containerMounts } from '../src/engine/kuberuntime/container-mounts.ts';
import { hostsFilePath } from '../src/engine/network/hosts-file.ts';
import { generateContainerConfig } from '../src/engine/kuberuntime/request/generate-container-config.ts';
import { containerLogsDirectory } from '../src/engine/container/log-paths.ts';
import { podSandboxConfig } from '../src/engine/kuberuntime/pod-sandbox-config.ts';
import type { NodeConfig } from '../src/engine/config/node-config.ts';
import { benchImage, benchPod } from './bench-pod.ts';
import type { Stage } from './stage.ts';

/** A pod with all its CRI requests ready to send. */
export interface PreparedPod {
  sandbox: PodSandboxConfig;
  /** Names of the init containers, in order. */
  initContainers: string[];
  container: (name: string, attempt: number) => ContainerConfig;
}

/**
 * Returns the requests that the engine would send for this manifest's pod, and creates the folders and files that it
 * would create.
 */
export async function preparePod({ images }: Stage, node: NodeConfig, manifest: string): Promise<PreparedPod> {
  const pod = benchPod(manifest);
  const { image } = await images.imageStatus({ image: { image: benchImage } });
  if (image === undefined) throw new Error(`${benchImage} was not imported`);
  const { initContainers = [], containers } = pod.spec;
  const podDir = join(node.rootDir, 'pods', pod.metadata.uid);
  await mkdir(podDir, { recursive: true });
  const configs = new Map<string, (attempt: number) => ContainerConfig>();
  for (const container of [...initContainers, ...containers]) {
    configs.set(container.name, await containerConfigs(pod, container, { node, podDir, image }));
  }
  const recorder = podEventRecorder(() => undefined, pod);
  return {
    sandbox: await podSandboxConfig(pod, 0, node, recorder),
    initContainers: initContainers.map(({ name }) => name),
    container: (name, attempt) => {
      const config = configs.get(name);
      if (config === undefined) throw new Error(`the pod has no container ${name}`);
      return config(attempt);
    },
  };
}

/** Returns the configurations of one container, by attempt. */
async function containerConfigs(
  pod: Pod,
  container: Container,
  { node, podDir, image }: { node: NodeConfig; podDir: string; image: Image },
): Promise<(attempt: number) => ContainerConfig> {
  await mkdir(containerLogsDirectory(node.podLogsDir, pod.metadata, container.name), { recursive: true });
  const request = {
    pod,
    container,
    podIPs: [],
    envs: [],
    supportsRecursiveReadOnly: false,
    volumes: new Map<string, never>(),
    podDir,
    clusterDomain: '',
    selinuxEnabled: false,
  };
  const mounts = await containerMounts(request, (_pod, content) => writeInPlace(hostsFilePath(podDir), content, 0o644));
  return (restartCount) =>
    generateContainerConfig({
      pod,
      container,
      restartCount,
      imageRef: image.id,
      imageUser: { username: image.username },
      envs: [],
      mounts,
      node: node.containerNode,
    });
}

/** Returns the node as the agent sees it with default flags. */
export async function defaultNode(stage: Stage): Promise<NodeConfig> {
  const rootDir = await stage.newFolder();
  const flags = ['--root-dir', rootDir, '--pod-logs-dir', join(rootDir, 'logs'), '--hostname-override', 'bench'];
  const command = addNodeOptions(new Command('run')).parse(flags, { from: 'user' });
  const options = await nodeOptions(command.opts<NodeFlags>(), []);
  const cgroupDriver = await readCgroupDriver(stage.runtime, options.cgroupDriver);
  return nodeConfig(options, await readMachine(rootDir), {
    cgroupDriver,
    nodeIPs: () => ['127.0.0.1'],
    userNamespaceIDs: await findUserNamespaceIDs(options),
  });
}
