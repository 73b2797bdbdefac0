import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';

/** The handlers of the managed containerd. */
const managedHandlers = ['runc'];

/** A warning for each pod whose RuntimeClass has a handler that the managed containerd does not have. */
export function unknownHandlers({
  where,
  pods,
  configObjects = [],
  classPositions = [],
}: Pick<SourceUpdate, 'where' | 'pods' | 'configObjects' | 'classPositions'>): ManifestProblem[] {
  const handlers = new Map(
    configObjects.flatMap((object) => (object.kind === 'RuntimeClass' ? [[object.name, object.handler]] : [])),
  );
  return pods.flatMap(({ metadata, spec }) => {
    const handler = handlers.get(spec.runtimeClassName ?? '');
    if (handler === undefined || managedHandlers.includes(handler)) return [];
    const field = 'spec.runtimeClassName';
    const place = classPositions.find((one) => one.podUID === metadata.uid && one.field === field);
    const { origin = where, line, column } = place ?? {};
    return {
      origin,
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column }),
      field,
      message: `the managed containerd has no handler "${handler}": the pod cannot start`,
      hint: 'Configure the handler in a containerd of your own, and name it: --container-runtime-endpoint SOCKET',
      severity: 'warning' as const,
    };
  });
}
