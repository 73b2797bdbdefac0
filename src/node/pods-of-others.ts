import { podKey } from '../api/values/pod-names.ts';
import { managedPaths } from '../containerd/managed-paths.ts';
import { openChannel } from '../cri/grpc-channel.ts';
import { grpcRuntimeService } from '../cri/grpc-runtime-service.ts';
import { PodDirs } from '../engine/host/pod-dirs.ts';
import { listAgents } from '../server/control/list-agents.ts';
import { lastRuntime } from './last-runtime.ts';

/** Longest wait for the answer of the runtime. */
const deadlineMs = 10_000;

/**
 * The pods, as `namespace/name`, that still run in the managed containerd of a root-dir after its own are removed,
 * because agents of other root-dirs may use it. Empty if it does not answer.
 */
export async function podsOfOthers(rootDir: string): Promise<string[]> {
  const { endpoint } = managedPaths(rootDir);
  const channel = openChannel(endpoint);
  try {
    const filter = { state: { state: 'SANDBOX_READY' as const } };
    const { items } = await grpcRuntimeService(channel).listPodSandbox({ filter }, { deadlineMs });
    // On a read-only disk, our stopped pods keep their folders, and containerd cannot record that sandboxes ended.
    const ours = new Set(await new PodDirs({ rootDir }).podUIDs());
    return items
      .flatMap(({ metadata }) => (metadata === undefined || ours.has(metadata.uid) ? [] : podKey(metadata)))
      .sort();
  } catch {
    // Nothing runs in it, or what runs there cannot be reached.
    return [];
  } finally {
    channel.close();
  }
}

/** The root-dirs of other agents that run and use the managed containerd of a root-dir, even without a pod. */
export async function agentsOfOthers(rootDir: string): Promise<string[]> {
  const { endpoint } = managedPaths(rootDir);
  const others = (await listAgents()).map((agent) => agent.rootDir).filter((folder) => folder !== rootDir);
  // An agent in another mount namespace has a root-dir that is not found here.
  const used = await Promise.all(others.map((folder) => lastRuntime(folder).catch(() => undefined)));
  return others.filter((_, index) => used[index] === endpoint).sort();
}
