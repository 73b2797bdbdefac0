import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../../api/types.ts';
import { type PodRef, podRef } from '../../api/values/pod-names.ts';
import type { Clock } from '../../clock.ts';
import type { RuntimeService } from '../../cri/runtime-service.ts';
import { errorMessage, hasCode } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { ContainerStartError } from '../container/container-start-error.ts';
import {
  containerLogPath,
  containerLogsDirectory,
  containerLogSymlinkName,
  podLogsDirectory,
} from '../container/log-paths.ts';
import { findContainerStatus } from '../container/runtime-pod-status.ts';
import type { SyncResult } from '../container/sync-result.ts';
import type { PodResources } from '../container-manager/resource-managers/pod-resources.ts';
import { listFolder } from '../../files/list-folder.ts';
import type { AskedImages, ImageManager } from '../images/image-manager.ts';
import type { PodEventRecorder } from '../view/event-recorder.ts';
import { reasons } from '../view/reasons.ts';
import { type ConfiguredContainer, containerConfig, type ContainerConfigDeps } from './container-config.ts';
import { type ImagesOfSync, withImageVolumes } from './image-volumes.ts';
import { killContainer } from './kill-container.ts';
import { createCall } from './create-call.ts';
import type { RuntimeSettings } from './request/runtime-settings.ts';
import { restartCountFromLogFiles } from './restart-count-from-logs.ts';
import { runHook } from './run-hook.ts';

export interface StartContainerDeps extends ContainerConfigDeps {
  runtime: RuntimeService;
  imageManager: ImageManager;
  /** Restart counts that survive a loss of the runtime's data. */
  restartCounts: RestartCounts;
  postStartHooks: PostStartHooks;
  /** CPUs and memory nodes of containers. Undefined if pods have no exclusive resources. */
  podResources?: Pick<PodResources, 'cpusetsOf' | 'preStart'> | undefined;
  clock: Clock;
  logger: Logger;
}

/** Restart counts of containers, in addition to those in the runtime and in the logs. */
export interface RestartCounts {
  /** The lowest restart count that a new instance of this container may have. */
  nextRestartCount(pod: PodRef, containerName: string): Promise<number>;
  /** Resolves once the count is on disk or cannot be written. Never rejects. */
  containerCreated(pod: PodRef, containerName: string, restartCount: number): Promise<void>;
}

/** Records hooks that started and have not finished, so that the next agent can finish them. */
export interface PostStartHooks {
  /** Resolves once the record is on disk or cannot be written. Never rejects. */
  hookStarted(podUID: string, containerName: string, containerID: string): Promise<void>;
  hookFinished(podUID: string, containerName: string): void;
}

interface ContainerStart extends ConfiguredContainer {
  podSandboxID: string;
  recorder: PodEventRecorder;
  signal: AbortSignal;
  askedImages: AskedImages | undefined;
  imagesOfSync: ImagesOfSync;
}

/**
 * Pulls the image, then creates and starts one container. Rejects with a `ContainerStartError` that has the waiting
 * reason. kubelet: kuberuntime_container.go startContainer
 */
export async function startContainer(deps: StartContainerDeps, start: ContainerStart): Promise<void> {
  const { runtime, imageManager, logger, clock } = deps;
  const { pod, container, podSandboxID, sandboxConfig, recorder, signal } = start;
  const { name } = container;

  // Step 1: pull the images.
  const recordFailure = (error: unknown): never => {
    if (error instanceof ContainerStartError && error.retryAtMonotonic === undefined)
      recorder.warning(reasons.failed, `Error: ${error.reason}`, name);
    throw error;
  };
  const counting = nextRestartCount(deps, start);
  // A failure is reported below, once the images are present.
  counting.catch(() => undefined);
  const volumes = await withImageVolumes(imageManager, start).catch(recordFailure);
  const image = await imageManager.ensureImageExists(start).catch(recordFailure);

  // Step 2: create the container.
  const restartCount = await counting;
  const { config, sets } = await failingWith(reasons.createContainerConfigError, start, () =>
    containerConfig(deps, { ...start, volumes }, { image, restartCount }),
  );
  const { containerId } = await failingWith(reasons.createContainerError, start, () =>
    createCall(clock, signal, (options) =>
      runtime.createContainer({ podSandboxId: podSandboxID, config, sandboxConfig }, options),
    ),
  );
  if (sets !== undefined) deps.podResources?.preStart(pod, container, containerId, sets);
  const counted = deps.restartCounts.containerCreated(podRef(pod), name, restartCount);
  recorder.normal(reasons.created, 'Container created', name);

  // Step 3: link its log for log shippers. Do this before the start, because the agent could be killed after it.
  const linked = linkLog(deps.node, pod, name, restartCount, containerId).catch((error: unknown) => {
    logger.warn({ err: error, pod: pod.metadata.name, containerName: name }, 'Linking the container log failed');
  });

  // Step 4: start it once the restart count is recorded, because every instance that ran must count. The start takes
  // far longer than the link.
  if (container.lifecycle?.postStart !== undefined)
    await deps.postStartHooks.hookStarted(pod.metadata.uid, name, containerId);
  await counted;
  const starting = failingWith(reasons.runContainerError, start, () =>
    createCall(clock, signal, (options) => runtime.startContainer({ containerId }, options)),
  );
  await starting.finally(() => linked);
  recorder.normal(reasons.started, 'Container started', name);

  // Step 5: run its postStart hook. The container counts as started only once the hook finishes.
  await postStart(deps, start, containerId);
}

/**
 * Runs the postStart hook. If the hook fails, kills the container. If the hook is aborted, the container keeps running:
 * either the agent stops and the next one repeats the hook, or the pod terminates.
 */
export async function postStart(
  deps: StartContainerDeps,
  start: Pick<ContainerStart, 'pod' | 'container' | 'podIPs' | 'recorder' | 'signal'>,
  containerID: string,
): Promise<void> {
  const { pod, container, podIPs, recorder, signal } = start;
  const { name, lifecycle: { postStart: hook } = {} } = container;
  const ended = (): void => {
    deps.postStartHooks.hookFinished(pod.metadata.uid, name);
  };
  if (hook === undefined) {
    ended();
    return;
  }
  try {
    await runHook(deps, hook, { container, containerID, podIPs, signal });
  } catch (error) {
    signal.throwIfAborted();
    recorder.warning(reasons.failedPostStartHook, 'PostStartHook failed', name);
    const kill = { containerID, name, message: 'FailedPostStartHook', podIPs };
    await killContainer(deps, pod, kill, recorder).then(ended, (cause: unknown) => {
      deps.logger.warn({ err: cause, pod: pod.metadata.name, containerName: name }, 'Killing a container failed');
    });
    const message = `PostStartHook of container ${name} failed: ${errorMessage(error)}`;
    throw new ContainerStartError(reasons.postStartHookError, message, { cause: error });
  }
  ended();
}

/** The next restart count. It never decreases, even if the runtime, the logs or the history lose data. */
async function nextRestartCount({ node, restartCounts }: StartContainerDeps, start: ContainerStart): Promise<number> {
  const { pod, container, podStatus } = start;
  const atLeast = await restartCounts.nextRestartCount(podRef(pod), container.name);
  const last = findContainerStatus(podStatus, container.name);
  return Math.max(atLeast, last === undefined ? await restartCountFromLogs(node, start) : last.restartCount + 1);
}

/** kubelet: kuberuntime_container.go calcRestartCountByLogDir */
async function restartCountFromLogs(node: RuntimeSettings, { pod, container }: ContainerStart): Promise<number> {
  const logs = await listFolder(containerLogsDirectory(node.podLogsDir, pod.metadata, container.name));
  return restartCountFromLogFiles(logs);
}

async function linkLog(node: RuntimeSettings, pod: Pod, name: string, restartCount: number, id: string): Promise<void> {
  const target = join(podLogsDirectory(node.podLogsDir, pod.metadata), containerLogPath(name, restartCount));
  const link = join(node.containerLogLinksDir, containerLogSymlinkName(pod.metadata, name, id));
  try {
    await symlink(target, link);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    await makeFolder(node.containerLogLinksDir, 0o755);
    await symlink(target, link);
  }
}

async function failingWith<T>(
  reason: string,
  { container, recorder, signal }: ContainerStart,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    // If the pod terminates, the container has not failed.
    signal.throwIfAborted();
    const message = errorMessage(error);
    recorder.warning(reasons.failed, `Error: ${message}`, container.name);
    throw new ContainerStartError(reason, message, { cause: error });
  }
}

/** The result of a container that did not start. */
export function startFailure(target: string, error: unknown): SyncResult {
  const reason = error instanceof ContainerStartError ? error.reason : reasons.runContainerError;
  return { action: 'startContainer', target, error, reason, message: errorMessage(error) };
}
