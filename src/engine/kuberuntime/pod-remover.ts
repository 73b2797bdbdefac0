import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { unlessNotFound } from '../../cri/errors.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import {
  containerLogPath,
  containerLogsDirectory,
  containerLogSymlinkName,
  podLogsDirectory,
  podLogsName,
  podUIDOfLogsDirectory,
} from '../container/log-paths.ts';
import type { RuntimePod } from '../container/runtime-pod.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../container/runtime-pod-status.ts';
import { listFolder } from '../../files/list-folder.ts';
import { isFileName } from '../host/pod-dirs.ts';
import { stopPodSandbox } from './kill-pod.ts';
import type { ForeignPods } from './owned-runtime.ts';
import { restartCountFromLogFiles } from './restart-count-from-logs.ts';

interface Deps {
  runtime: RuntimeService;
  foreignPods: Pick<ForeignPods, 'holderOf'>;
  podLogsDir: string;
  containerLogLinksDir: string;
}

interface PodIdentity {
  uid: string;
  name: string;
  namespace: string;
}

type DeadContainer = Pick<RuntimeContainerStatus, 'id' | 'name' | 'restartCount'>;

/**
 * Removes stopped containers and pods from the runtime, with their logs. kubelet: kuberuntime/kuberuntime_gc.go
 *
 * INVARIANT: the link to a log is removed before its container, because its name contains the container's id.
 */
export class PodRemover {
  /** Running removals by container id, because the runtime rejects a second one. */
  private readonly removals = new Map<string, Promise<unknown>>();

  constructor(private readonly deps: Deps) {}

  /** Removes a dead container, its log with rotated files, and the link to the log. Ignores what is missing. */
  removeContainer(pod: PodIdentity, container: DeadContainer): Promise<void> {
    return this.removeWithLogs(pod, container, listFolder);
  }

  /**
   * Removes dead containers of a pod one after the other. Resolves with the errors of failed removals. Reads each log
   * folder once, because thousands of containers may share it.
   */
  async removeContainers(pod: PodIdentity, containers: readonly DeadContainer[]): Promise<unknown[]> {
    const listings = new Map<string, Promise<string[]>>();
    const listOnce = (folder: string): Promise<string[]> => {
      const listing = listings.get(folder) ?? listFolder(folder);
      listings.set(folder, listing);
      return listing;
    };
    const errors: unknown[] = [];
    for (const container of containers) {
      await this.removeWithLogs(pod, container, listOnce).catch((error: unknown) => errors.push(error));
    }
    return errors;
  }

  /**
   * Removes a dead container and the logs of its earlier instances. Keeps its log until the next purge, because the
   * restart count continues from the log's name (restart-count-from-logs.ts).
   */
  async purgeContainer(pod: PodIdentity, { id, name, restartCount }: RuntimeContainerStatus): Promise<void> {
    const folder = containerLogsDirectory(this.deps.podLogsDir, pod, name);
    await this.removeLogLink(pod, name, id);
    await this.removeFromRuntime(id);
    await removeMatching(folder, (file) => restartCountFromLogFiles([file]) !== restartCount + 1);
  }

  /**
   * Removes a container that starts again, and the logs of its earlier instances. Its own log stays, as for
   * `purgeContainer`.
   */
  async resetContainer(pod: PodIdentity, { id, name, restartCount }: DeadContainer): Promise<void> {
    await this.removeLogLink(pod, name, id);
    await this.removeFromRuntime(id);
    const folder = containerLogsDirectory(this.deps.podLogsDir, pod, name);
    await removeMatching(folder, (file) => restartCountFromLogFiles([file]) <= restartCount);
  }

  /**
   * Removes every container and sandbox of a stopped pod, and its logs. `pod` is undefined if the runtime no longer has
   * it.
   */
  async removePod(uid: string, pod: RuntimePod | undefined): Promise<void> {
    if (pod === undefined) {
      if (!this.areLogsShared(uid)) await this.removeLostLogs(uid);
      return;
    }
    await Promise.all(
      pod.containers.map(async ({ id, name }) => {
        await this.removeLogLink(pod, name, id);
        await this.removeFromRuntime(id);
      }),
    );
    await Promise.all(pod.sandboxes.map(({ id }) => this.removePodSandbox(id)));
    if (this.areLogsShared(uid) || !isFileName(podLogsName(pod))) return;
    await rm(podLogsDirectory(this.deps.podLogsDir, pod), { recursive: true, force: true });
  }

  private async removeWithLogs(
    pod: PodIdentity,
    { id, name, restartCount }: DeadContainer,
    list: (folder: string) => Promise<string[]>,
  ): Promise<void> {
    const log = join(podLogsDirectory(this.deps.podLogsDir, pod), containerLogPath(name, restartCount));
    await this.removeLogLink(pod, name, id);
    await this.removeFromRuntime(id);
    const files = (await list(dirname(log))).filter((file) => file.startsWith(basename(log)));
    await removeFiles(dirname(log), files);
  }

  /** True if another owner has a pod with this UID, whose logs are in the same folder. */
  private areLogsShared(uid: string): boolean {
    return this.deps.foreignPods.holderOf(uid) !== undefined;
  }

  /** Removes the logs of a pod whose removal was interrupted after the runtime lost its name. */
  private async removeLostLogs(uid: string): Promise<void> {
    await removeMatching(this.deps.podLogsDir, (name) => podUIDOfLogsDirectory(name) === uid);
  }

  private removeFromRuntime(containerId: string): Promise<unknown> {
    const underWay = this.removals.get(containerId);
    if (underWay !== undefined) return underWay;
    const removal = unlessNotFound(this.deps.runtime.removeContainer({ containerId })).finally(() => {
      this.removals.delete(containerId);
    });
    this.removals.set(containerId, removal);
    return removal;
  }

  /** Stops and removes one sandbox. Does nothing if it is missing. */
  async removePodSandbox(podSandboxId: string): Promise<void> {
    // Stop it again to release the network that an interrupted stop left behind.
    await stopPodSandbox(this.deps.runtime, podSandboxId);
    await unlessNotFound(this.deps.runtime.removePodSandbox({ podSandboxId }));
  }

  private async removeLogLink(pod: PodIdentity, containerName: string, containerID: string): Promise<void> {
    const link = containerLogSymlinkName(pod, containerName, containerID);
    if (isFileName(link)) await rm(join(this.deps.containerLogLinksDir, link), { force: true });
  }
}

/**
 * Dead instances of this container except the newest `maxKept`, which are kept for its status and `logs --previous`.
 * kubelet: pod_container_deletor.go getContainersToDeleteInPod
 */
export function surplusContainers(
  { containerStatuses }: RuntimePodStatus,
  name: string,
  maxKept: number,
): RuntimeContainerStatus[] {
  return containerStatuses.filter((status) => status.name === name && status.state === 'exited').slice(maxKept);
}

/** Removes the matching entries of a folder. Does nothing if the folder is missing. */
async function removeMatching(folder: string, matches: (name: string) => boolean): Promise<void> {
  await removeFiles(folder, (await listFolder(folder)).filter(matches));
}

async function removeFiles(folder: string, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}
