import type { Manifests } from './load-manifests.ts';

/** Everything that several manifests declare, in their order, without the places of names. */
export function joinManifests(parts: readonly Partial<Manifests>[]): Required<Omit<Manifests, 'namePlaces'>> {
  return {
    pods: parts.flatMap(({ pods = [] }) => pods),
    configObjects: parts.flatMap(({ configObjects = [] }) => configObjects),
    problems: parts.flatMap(({ problems = [] }) => problems),
    dependsOnPlaces: parts.flatMap(({ dependsOnPlaces = [] }) => dependsOnPlaces),
    classPlaces: parts.flatMap(({ classPlaces = [] }) => classPlaces),
    derivedUIDs: parts.flatMap(({ derivedUIDs = [] }) => derivedUIDs),
  };
}
