import {
  cycleOf,
  cycleText,
  dependsOn,
  type DependsOnPlace,
  findDependency,
  manifestKey,
} from '../api/values/depends-on.ts';
import type { ManifestProblem } from '../api/text/manifest-problem.ts';
import { nearestName } from '../api/text/nearest-name.ts';
import type { Pod } from '../api/types.ts';

/** What is wrong with the start order of all pods together: pods that wait for each other, and for none that is declared. */
export function startOrderProblems(pods: readonly Pod[], places: readonly DependsOnPlace[]): ManifestProblem[] {
  return places.flatMap(({ podUID, ...place }) => {
    const pod = pods.find(({ metadata }) => metadata.uid === podUID);
    return pod === undefined ? [] : problemsOf(pod, pods).map((problem) => ({ ...place, ...problem }));
  });
}

function problemsOf(pod: Pod, pods: readonly Pod[]): Omit<ManifestProblem, 'origin'>[] {
  const cycle = cycleOf(pod, pods);
  if (cycle !== undefined) {
    const hint = 'None of them would ever start: take one name out.';
    return [{ message: cycleText(cycle), hint, severity: 'error' }];
  }
  return dependsOn(pod)
    .filter((key) => findDependency(key, pods) === undefined)
    .map((key) => {
      const nearest = nearestName(key, pods.filter((other) => other !== pod).map(manifestKey));
      const hint = nearest === undefined ? 'The pod waits until one is.' : `Did you mean "${nearest}"?`;
      return { message: `no manifest declares pod ${key}`, hint, severity: 'warning' };
    });
}
