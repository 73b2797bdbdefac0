import type { PodStarter } from '../../../src/engine/pod-start/pod-starter.ts';

type Deps = ConstructorParameters<typeof PodStarter>[0];

/** An engine whose pods only need to be admitted. Notes the UIDs of those that start. */
export function startDeps(
  launch: Deps['actions'] extends () => { launch: infer Launch } ? Launch : never,
): Pick<Deps, 'actions' | 'pull' | 'isStopped' | 'mustRunAnew' | 'isDone'> {
  const never = (): never => {
    throw new Error('nothing is replaced, stopped or run anew here');
  };
  return {
    actions: () => ({
      replacements: { earlierOf: () => undefined, pending: never, endEarlier: never },
      launch,
      endLastRun: never,
      keepStopped: never,
      startOthers: never,
    }),
    pull: never,
    isStopped: () => false,
    mustRunAnew: () => false,
    isDone: () => false,
  };
}
