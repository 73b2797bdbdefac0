/** State of a pod worker with its data. Its name is a `PodWorkerState`. */
export type WorkerState =
  | { readonly name: 'waiting' | 'sync' }
  | {
      readonly name: 'terminating';
      readonly ending: Ending;
      /** 0 if none was requested. */
      gracePeriodSeconds: number;
      /** Called once the pod has terminated. */
      readonly onTerminated: (() => void)[];
    }
  | { readonly name: 'terminated' | 'finished'; readonly ending: Ending };

/** How a pod terminates. */
export interface Ending {
  cause: EndCause;
  /** True if a sync that stops the pod has started, or if there was nothing to stop. */
  hasBegun: boolean;
  /** True if the UID was declared again in the meantime. */
  restartRequested: boolean;
}

/** `deleted`: no longer declared. `over`: finished without a request, or killed while still declared. */
export type EndCause = 'deleted' | 'evicted' | 'over';

export function newEnding(cause: EndCause): Ending {
  return { cause, hasBegun: false, restartRequested: false };
}

/** Returns undefined if the pod is not terminating. */
export function endingOf(state: WorkerState): Ending | undefined {
  return 'ending' in state ? state.ending : undefined;
}

/** True if no container of the pod runs. */
export function hasTerminated({ name }: WorkerState): boolean {
  return name === 'terminated' || name === 'finished';
}
