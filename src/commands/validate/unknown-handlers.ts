import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';

/** A warning for each pod whose RuntimeClass has a handler that the managed containerd does not have. */
export function unknownHandlers(
  {
    where,
    pods,
    configObjects = [],
    classPositions = [],
  }: Pick<SourceUpdate, 'where' | 'pods' | 'configObjects' | 'classPositions'>,
  managedHandlers: readonly string[],
): ManifestProblem[] {
  const handlers = new Map(
    configObjects.flatMap((object) => (object.kind === 'RuntimeClass' ? [[object.name, object.handler]] : [])),
  );
  return pods.flatMap(({ metadata, spec }) => {
    const handler = handlers.get(spec.runtimeClassName ?? '');
    if (handler === undefined || managedHandlers.includes(handler)) return [];
    const field = 'spec.runtimeClassName';
    const position = classPositions.find((one) => one.podUID === metadata.uid && one.field === field);
    const { origin = where, line, column } = position ?? {};
    return {
      origin,
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
      field,
      message: `the managed containerd has no handler "${handler}": the pod cannot start`,
      hint: 'Add it in a file in containerd/conf.d of the root-dir, or correct the handler of the class.',
      severity: 'warning' as const,
    };
  });
}
