import type { Container, Pod } from '../../src/api/types.ts';

/** The container or init container that a case is about. */
export function containerNamed({ spec }: Pick<Pod, 'spec'>, name: string): Container {
  const container = [...(spec.initContainers ?? []), ...spec.containers].find((candidate) => candidate.name === name);
  if (!container) throw new Error(`The pod has no container ${name}`);
  return container;
}
