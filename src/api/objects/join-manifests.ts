import type { Manifests } from './load-manifests.ts';

type JoinedManifests = Required<Omit<Manifests, 'namePositions' | 'declaresNothing' | 'broken'>> &
  Pick<Manifests, 'declaresNothing' | 'broken'>;

/** Everything that several manifests declare, in their order, without the positions of names. */
export function joinManifests(parts: readonly Partial<Manifests>[]): JoinedManifests {
  const pods = parts.flatMap((part) => part.pods ?? []);
  const broken = parts.flatMap((part) => part.broken ?? []);
  return {
    pods,
    configObjects: parts.flatMap(({ configObjects = [] }) => configObjects),
    workloads: parts.flatMap(({ workloads = [] }) => workloads),
    problems: parts.flatMap(({ problems = [] }) => problems),
    dependsOnPositions: parts.flatMap(({ dependsOnPositions: dependsOnPositions = [] }) => dependsOnPositions),
    classPositions: parts.flatMap(({ classPositions: classPositions = [] }) => classPositions),
    derivedUIDs: parts.flatMap(({ derivedUIDs = [] }) => derivedUIDs),
    ...(pods.length === 0 && parts.some(({ declaresNothing }) => declaresNothing) && { declaresNothing: true }),
    ...(broken.length > 0 && { broken }),
  };
}
