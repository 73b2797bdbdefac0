/** State of a pod worker, with what belongs to it. Its name is a `PodWorkerState`. */
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

/** How a pod ends. */
export interface Ending {
  cause: EndCause;
  /** A sync that stops the pod began, or nothing was left to stop. */
  hasBegun: boolean;
  /** The same UID was declared again meanwhile. */
  restartRequested: boolean;
}

/** `deleted`: not declared any more. `over`: the pod reached its end by itself, or was killed and stays declared. */
export type EndCause = 'deleted' | 'evicted' | 'over';

export function newEnding(cause: EndCause): Ending {
  return { cause, hasBegun: false, restartRequested: false };
}

/** Returns undefined if the pod is not to end. */
export function endingOf(state: WorkerState): Ending | undefined {
  return 'ending' in state ? state.ending : undefined;
}

/** True if no container of the pod runs any more. */
export function hasTerminated({ name }: WorkerState): boolean {
  return name === 'terminated' || name === 'finished';
}
