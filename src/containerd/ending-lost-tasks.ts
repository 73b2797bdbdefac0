import type { RuntimeService } from '../cri/runtime-service.ts';
import type { CallOptions } from '../cri/service.ts';
import type { ContainerStatus } from '../cri/types.ts';
import type { Logger } from '../logger.ts';
import type { ContainerTasks } from './container-tasks.ts';

interface LostTasksDeps {
  readonly tasks: ContainerTasks;
  /** True if the container with these labels is ours to kill. */
  readonly isOurs: (labels: Readonly<Record<string, string>>) => Promise<boolean>;
  readonly logger: Logger;
}

/**
 * Wraps a RuntimeService. Before it reports one of our containers as not running, it kills whatever containerd still
 * runs of that container.
 *
 * If a start was cut off because the caller died or the deadline passed, containerd's CRI can report a running
 * container as created, or as exited with 128. It then neither stops nor removes that container, and a second instance
 * would start next to it. So the status of a container that never started is returned only once nothing of it runs, and
 * the call rejects if killing it fails. Other statuses cost no extra call.
 */
export function endingLostTasks(runtime: RuntimeService, { tasks, isOurs, logger }: LostTasksDeps): RuntimeService {
  /**
   * Containers created by this process whose start was not refused. One of these that has not started yet is not lost.
   */
  const created = new Set<string>();

  const mayBeLost = ({ id, state, startedAt }: ContainerStatus): boolean =>
    startedAt === 0n && (state === 'CONTAINER_EXITED' || (state === 'CONTAINER_CREATED' && !created.has(id)));

  const hasEnded = async (status: ContainerStatus, options: CallOptions | undefined): Promise<boolean> => {
    const { id } = status;
    if (!mayBeLost(status) || !(await isOurs(status.labels)) || !(await tasks.has(id, options))) return false;
    // Our CreateContainer may have returned just now, and the start may be under way.
    if (!mayBeLost(status)) return false;
    logger.info({ containerID: id }, 'Stopping a container whose start was interrupted');
    await tasks.end(id, options);
    return true;
  };

  return {
    ...runtime,
    createContainer: async (request, options) => {
      const response = await runtime.createContainer(request, options);
      created.add(response.containerId);
      return response;
    },
    startContainer: async (request, options) => {
      try {
        return await runtime.startContainer(request, options);
      } catch (error) {
        created.delete(request?.containerId ?? '');
        throw error;
      }
    },
    removeContainer: async (request, options) => {
      created.delete(request?.containerId ?? '');
      return runtime.removeContainer(request, options);
    },
    containerStatus: async (request, options) => {
      const response = await runtime.containerStatus(request, options);
      if (response.status === undefined || !(await hasEnded(response.status, options))) return response;
      return runtime.containerStatus(request, options);
    },
  };
}
