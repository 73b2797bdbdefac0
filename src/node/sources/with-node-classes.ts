import { isNodeClass } from '../../api/values/config-object.ts';
import { nodeClassesIn, type RuntimeClass } from '../../api/values/node-class.ts';
import { PodClasses } from '../../engine/config-objects/pod-classes.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';

/**
 * The pods with the values of their classes, as the agent would run them, and the problems of their classes.
 * `configured` are the classes of the configuration.
 */
export function withNodeClasses<Update extends SourceUpdate>(
  update: Update,
  configured: readonly RuntimeClass[],
): Update {
  const { configObjects = [], classPositions = [], where } = update;
  const classes = new PodClasses(nodeClassesIn([...configured, ...configObjects.filter(isNodeClass)]));
  const pods = update.pods.map((pod) => classes.resolve(pod));
  const found = update.pods.flatMap((pod) => classes.placedProblem(pod, classPositions, where));
  return { ...update, pods, problems: [...update.problems, ...found] };
}
