import { isNodeClass } from '../../api/values/config-object.ts';
import { nodeClassesIn } from '../../api/values/node-class.ts';
import { PodClasses } from '../../engine/config/pod-classes.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';

/** The pods with the values of their classes, as the agent would run them, and the problems with their classes. */
export function withNodeClasses<Update extends SourceUpdate>(update: Update): Update {
  const { configObjects = [], classPlaces = [], where } = update;
  const classes = new PodClasses(nodeClassesIn(configObjects.filter(isNodeClass)));
  const pods = update.pods.map((pod) => classes.resolve(pod));
  const found = update.pods.flatMap((pod) => classes.placedProblem(pod, classPlaces, where));
  return { ...update, pods, problems: [...update.problems, ...found] };
}
