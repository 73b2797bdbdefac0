import type { Kubelet } from '../engine/kubelet.ts';
import type { Logger } from '../logger.ts';
import type { NodeOptions } from './options/node-options.ts';

interface Deps {
  logger: Logger;
  /** Stops the agent. Its pods keep running. */
  stop: (reason: string) => void;
}

/**
 * Handles the signals to `run`: stops the agent, after its pods if configured. A second signal stops the agent at once.
 */
export class AgentEnd {
  private kubelet: Pick<Kubelet, 'shutDownPods' | 'isWatchingShutdowns'> | undefined;
  private isEnding = false;

  constructor(private readonly deps: Deps) {}

  /** From now on, SIGTERM also stops the pods, unless logind reports shutdowns of the machine. */
  podsOf(kubelet: Pick<Kubelet, 'shutDownPods' | 'isWatchingShutdowns'>): void {
    this.kubelet = kubelet;
  }

  /** Returns false if the pods stop first. */
  signalled(signal: NodeJS.Signals): boolean {
    const { kubelet, deps } = this;
    const { logger, stop } = deps;
    const stopsPods = signal === 'SIGTERM' && kubelet?.isWatchingShutdowns === false;
    if (!stopsPods || this.isEnding) {
      logger.info({ signal }, this.isEnding ? 'Stopping at once' : 'Stopping, pods keep running');
      stop(signal);
      return true;
    }
    this.isEnding = true;
    logger.info({ signal }, 'Stopping after the pods; a second signal stops at once');
    void kubelet.shutDownPods().then(() => {
      stop(signal);
    });
    return false;
  }
}

/** True if pods get time to stop at a node shutdown. kubelet: nodeshutdown_manager_linux.go NewManager */
export function stopsItsPods(
  options: Pick<
    NodeOptions,
    'shutdownGracePeriod' | 'shutdownGracePeriodCriticalPods' | 'shutdownGracePeriodByPodPriority'
  >,
): boolean {
  const { shutdownGracePeriod, shutdownGracePeriodCriticalPods, shutdownGracePeriodByPodPriority } = options;
  return shutdownGracePeriod > 0 || shutdownGracePeriodCriticalPods > 0 || shutdownGracePeriodByPodPriority.length > 0;
}

/** Maximum time for all pods to stop, in milliseconds. kubelet: nodeshutdown_manager_linux.go */
export function endOfPodsMs(
  options: Pick<NodeOptions, 'shutdownGracePeriod' | 'shutdownGracePeriodByPodPriority'>,
): number {
  const { shutdownGracePeriod, shutdownGracePeriodByPodPriority: groups } = options;
  return groups.reduce((sum, group) => sum + group.shutdownGracePeriodSeconds * 1000, shutdownGracePeriod);
}
