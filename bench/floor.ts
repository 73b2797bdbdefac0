import { benchManifest, containerName, initChainManifest, jobManifest } from './bench-pod.ts';
import { defaultNode, type PreparedPod, preparePod } from './prepared-pod.ts';
import type { Stage } from './stage.ts';

/** Milliseconds that the runtime itself takes when only the benchmark calls it. */
export interface FloorOfOne {
  created: number;
  started: number;
  stopped: number;
  restarted: number;
}

/** Starts one pod, kills its container, starts a new one as soon as containerd reports the exit, and stops it. */
export async function measureFloorOfOne(stage: Stage, name: string): Promise<FloorOfOne> {
  const { runtime } = stage;
  const pod = await preparePod(stage, await defaultNode(stage), benchManifest(name));
  const startedFrom = Date.now();
  const podSandboxId = await runSandbox(stage, pod);
  const first = await startContainer(stage, pod, { podSandboxId, name: containerName });
  const { createdAt, startedAt } = await stage.containerStatus(first);
  process.kill(await stage.processOf(first), 'SIGKILL');
  await stage.exits.of(first);
  const second = await startContainer(stage, pod, { podSandboxId, name: containerName, attempt: 1 });
  const { finishedAt } = await stage.containerStatus(first);
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

/**
 * Returns the milliseconds until the container after the init containers runs. Each one starts when containerd reports
 * that the previous one has exited.
 */
export async function measureFloorOfInitChain(stage: Stage, name: string): Promise<number> {
  const pod = await preparePod(stage, await defaultNode(stage), initChainManifest(name));
  const from = Date.now();
  const podSandboxId = await runSandbox(stage, pod);
  for (const step of pod.initContainers) {
    await stage.exits.of(await startContainer(stage, pod, { podSandboxId, name: step }));
  }
  const last = await startContainer(stage, pod, { podSandboxId, name: containerName });
  const { startedAt } = await stage.containerStatus(last);
  await stage.removePods();
  return millis(startedAt) - from;
}

/**
 * Returns the milliseconds for a job that does nothing: create, start, exit, and remove everything. The job has exited
 * when containerd reports it.
 */
export async function measureFloorOfJob(stage: Stage, name: string): Promise<number> {
  const { runtime } = stage;
  const pod = await preparePod(stage, await defaultNode(stage), jobManifest(name));
  const from = performance.now();
  const podSandboxId = await runSandbox(stage, pod);
  const containerId = await startContainer(stage, pod, { podSandboxId, name: containerName });
  await stage.exits.of(containerId);
  await runtime.stopPodSandbox({ podSandboxId });
  await runtime.removeContainer({ containerId });
  await runtime.removePodSandbox({ podSandboxId });
  const ms = performance.now() - from;
  await stage.removeCgroup(pod.sandbox.metadata?.uid ?? '');
  return ms;
}

/** Returns the milliseconds until the last of many pods runs when all are requested at once. */
export async function measureFloorOfMany(stage: Stage, name: string, count: number): Promise<number> {
  const node = await defaultNode(stage);
  const manifests = Array.from({ length: count }, (_, index) => benchManifest(`${name}-${index}`));
  const pods = await Promise.all(manifests.map((manifest) => preparePod(stage, node, manifest)));
  const from = Date.now();
  const started = await Promise.all(pods.map((pod) => startPod(stage, pod)));
  const statuses = await Promise.all(started.map((containerId) => stage.containerStatus(containerId)));
  await stage.removePods();
  return Math.max(...statuses.map(({ startedAt }) => millis(startedAt))) - from;
}

/** Converts CRI nanoseconds to milliseconds, in steps of a tenth. */
export const millis = (nanos: bigint): number => Number(nanos / 100_000n) / 10;

async function startPod(stage: Stage, pod: PreparedPod): Promise<string> {
  const podSandboxId = await runSandbox(stage, pod);
  return startContainer(stage, pod, { podSandboxId, name: containerName });
}

async function runSandbox({ runtime }: Stage, { sandbox }: PreparedPod): Promise<string> {
  return (await runtime.runPodSandbox({ config: sandbox })).podSandboxId;
}

/** Starts a container. Resolves to its id. */
async function startContainer(
  { runtime }: Stage,
  pod: PreparedPod,
  { podSandboxId, name, attempt = 0 }: { podSandboxId: string; name: string; attempt?: number },
): Promise<string> {
  const { containerId } = await runtime.createContainer({
    podSandboxId,
    config: pod.container(name, attempt),
    sandboxConfig: pod.sandbox,
  });
  await runtime.startContainer({ containerId });
  return containerId;
}
