import { Command } from 'commander';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeConfig } from '../src/commands/node-config.ts';
import { addNodeOptions } from '../src/commands/node-flags.ts';
import { type NodeFlags, nodeOptions } from '../src/commands/node-options.ts';
import type { ContainerConfig, PodSandboxConfig } from '../src/cri/types.ts';
import { readMachine } from '../src/engine/container-manager/machine.ts';
import { readCgroupDriver } from '../src/engine/container-manager/read-cgroup-driver.ts';
import { podEventRecorder } from '../src/engine/event-recorder.ts';
import { containerMounts } from '../src/engine/kuberuntime/container-mounts.ts';
import { generateContainerConfig } from '../src/engine/kuberuntime/generate-container-config.ts';
import { containerLogsDirectory } from '../src/engine/kuberuntime/log-paths.ts';
import { podSandboxConfig } from '../src/engine/kuberuntime/pod-sandbox-config.ts';
import type { NodeConfig } from '../src/engine/node-config.ts';
import { benchImage, benchPod } from './bench-pod.ts';
import type { Stage } from './stage.ts';

/** A pod whose every request is ready to be sent. */
interface PreparedPod {
  sandbox: PodSandboxConfig;
  container: (attempt: number) => ContainerConfig;
}

/** Milliseconds that the runtime itself takes, asked by nobody but us. */
export interface FloorOfOne {
  created: number;
  started: number;
  stopped: number;
  restarted: number;
}

/** One pod from nothing to running, its container killed, started anew as soon as the CRI tells of the exit, and stopped. */
export async function measureFloorOfOne(stage: Stage, name: string): Promise<FloorOfOne> {
  const { runtime } = stage;
  const node = await defaultNode(stage);
  const pod = await prepare(stage, node, name);
  const startedFrom = Date.now();
  const { podSandboxId, containerId } = await startPod(stage, pod);
  const { createdAt, startedAt } = await stage.containerStatus(containerId);
  process.kill(await stage.processOf(containerId), 'SIGKILL');
  const { finishedAt } = await stage.containerExit(containerId);
  const second = await startContainer(stage, pod, podSandboxId, 1);
  const { startedAt: restartedAt } = await stage.containerStatus(second);
  const pid = await stage.processOf(second);
  const stoppedFrom = Date.now();
  const [stoppedAt] = await Promise.all([
    stage.processEnd(pid),
    runtime.stopContainer({ containerId: second, timeout: 5 }),
  ]);
  await stage.removePods();
  return {
    created: millis(createdAt) - startedFrom,
    started: millis(startedAt) - startedFrom,
    stopped: stoppedAt - stoppedFrom,
    restarted: millis(restartedAt - finishedAt),
  };
}

/** Milliseconds until the last of many pods runs, all asked for at once. */
export async function measureFloorOfMany(stage: Stage, name: string, count: number): Promise<number> {
  const node = await defaultNode(stage);
  const names = Array.from({ length: count }, (_, index) => `${name}-${index}`);
  const pods = await Promise.all(names.map((one) => prepare(stage, node, one)));
  const from = Date.now();
  const started = await Promise.all(pods.map((pod) => startPod(stage, pod)));
  const statuses = await Promise.all(started.map(({ containerId }) => stage.containerStatus(containerId)));
  await stage.removePods();
  return Math.max(...statuses.map(({ startedAt }) => millis(startedAt))) - from;
}

/** CRI times are nanoseconds; a tenth of a millisecond is as fine as it matters. */
export const millis = (nanos: bigint): number => Number(nanos / 100_000n) / 10;

async function startPod(stage: Stage, pod: PreparedPod): Promise<{ podSandboxId: string; containerId: string }> {
  const { podSandboxId } = await stage.runtime.runPodSandbox({ config: pod.sandbox });
  return { podSandboxId, containerId: await startContainer(stage, pod, podSandboxId, 0) };
}

async function startContainer(
  { runtime }: Stage,
  pod: PreparedPod,
  podSandboxId: string,
  attempt: number,
): Promise<string> {
  const { containerId } = await runtime.createContainer({
    podSandboxId,
    config: pod.container(attempt),
    sandboxConfig: pod.sandbox,
  });
  await runtime.startContainer({ containerId });
  return containerId;
}

/** What the engine would send for this pod, with the folders and files that it makes for it. */
async function prepare({ images }: Stage, node: NodeConfig, name: string): Promise<PreparedPod> {
  const pod = benchPod(name);
  const [container] = pod.spec.containers;
  if (container === undefined) throw new Error('the pod of the benchmark has no container');
  const podDir = join(node.rootDir, 'pods', pod.metadata.uid);
  await mkdir(podDir, { recursive: true });
  await mkdir(containerLogsDirectory(node.podLogsDir, pod.metadata, container.name), { recursive: true });
  const volumes = new Map<string, never>();
  const mounts = await containerMounts({
    pod,
    container,
    podIPs: [],
    envs: [],
    recursiveReadOnly: { isEnabled: true, isSupported: false },
    volumes,
    podDir,
    clusterDomain: '',
    selinuxEnabled: false,
  });
  const { image } = await images.imageStatus({ image: { image: benchImage } });
  const recorder = podEventRecorder(() => undefined, pod);
  return {
    sandbox: await podSandboxConfig(pod, 0, node, recorder),
    container: (restartCount) =>
      generateContainerConfig({
        pod,
        container,
        restartCount,
        imageRef: image?.id ?? '',
        imageUser: { username: image?.username ?? '' },
        envs: [],
        mounts,
        node: node.containerNode,
      }),
  };
}

/** The node as the agent finds it with its default flags. */
async function defaultNode(stage: Stage): Promise<NodeConfig> {
  const rootDir = await stage.newFolder();
  const flags = ['--root-dir', rootDir, '--pod-logs-dir', join(rootDir, 'logs'), '--hostname-override', 'bench'];
  const command = addNodeOptions(new Command('run')).parse(flags, { from: 'user' });
  const options = await nodeOptions(command.opts<NodeFlags>(), []);
  return nodeConfig(options, await readMachine(rootDir), await readCgroupDriver(stage.runtime, options.cgroupDriver));
}
