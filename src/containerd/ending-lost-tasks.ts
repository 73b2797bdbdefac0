import type { RuntimeService } from '../cri/runtime-service.ts';
import type { CallOptions } from '../cri/service.ts';
import type { ContainerStatus } from '../cri/types.ts';
import type { Logger } from '../logger.ts';
import type { ContainerTasks } from './container-tasks.ts';

interface LostTasksDeps {
  readonly tasks: ContainerTasks;
  /** Whether the container with these labels is one of ours, to be ended by us. */
  readonly isOurs: (labels: Readonly<Record<string, string>>) => Promise<boolean>;
  readonly logger: Logger;
}

/**
 * A runtime on which nothing runs of a container of ours that is told of as not running. When a start is cut off, by the
 * death of who asked for it or by its deadline, the CRI of containerd can call a container created, or exited with 128, that
 * runs: it does not stop it, cannot remove it, and another instance would be started beside it. The status of a
 * container that never started is told once nothing of it runs, and rejects when that cannot be had. No other status costs
 * a call.
 */
export function endingLostTasks(runtime: RuntimeService, { tasks, isOurs, logger }: LostTasksDeps): RuntimeService {
  /** Made by this process, and not refused when they were started: what is not started yet of these is not lost. */
  const made = new Set<string>();

  const mayBeLost = ({ id, state, startedAt }: ContainerStatus): boolean =>
    startedAt === 0n && (state === 'CONTAINER_EXITED' || (state === 'CONTAINER_CREATED' && !made.has(id)));

  const hasEnded = async (status: ContainerStatus, options: CallOptions | undefined): Promise<boolean> => {
    const { id } = status;
    if (!mayBeLost(status) || !(await isOurs(status.labels)) || !(await tasks.has(id, options))) return false;
    // We may have heard only now that we made it, and be starting it.
    if (!mayBeLost(status)) return false;
    logger.info({ containerID: id }, 'Ending a container that runs although its start was cut off');
    await tasks.end(id, options);
    return true;
  };

  return {
    ...runtime,
    createContainer: async (request, options) => {
      const response = await runtime.createContainer(request, options);
      made.add(response.containerId);
      return response;
    },
    startContainer: async (request, options) => {
      try {
        return await runtime.startContainer(request, options);
      } catch (error) {
        made.delete(request?.containerId ?? '');
        throw error;
      }
    },
    removeContainer: async (request, options) => {
      made.delete(request?.containerId ?? '');
      return runtime.removeContainer(request, options);
    },
    containerStatus: async (request, options) => {
      const response = await runtime.containerStatus(request, options);
      if (response.status === undefined || !(await hasEnded(response.status, options))) return response;
      return runtime.containerStatus(request, options);
    },
  };
}
