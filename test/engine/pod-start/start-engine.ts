import type { StartEngine } from '../../../src/engine/pod-start/pod-starter.ts';

/** An engine whose pods only need to be admitted. Records what it is asked to do. */
export function startEngine(calls: string[] = []): StartEngine {
  return {
    isStopped: () => false,
    mustRunAnew: () => false,
    isDone: () => false,
    earlierOf: () => undefined,
    replacementsToMake: () => [],
    imagesOf: () => 'unknown',
    pull: ({ metadata }) => void calls.push(`pull ${metadata.uid}`),
    stopEarlier: (pods) => void calls.push(`stop what runs before ${pods.map(({ metadata }) => metadata.uid).join()}`),
    launch: ({ metadata }) => void calls.push(`start ${metadata.uid}`),
    endLastRun: ({ metadata }) => void calls.push(`end the last run of ${metadata.uid}`),
    keepStopped: ({ metadata }) => void calls.push(`stop ${metadata.uid}`),
  };
}
