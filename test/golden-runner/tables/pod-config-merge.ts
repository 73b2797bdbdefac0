import type { Pod } from '../../../src/api/types.ts';
import { configAnnotations, type SourceName } from '../../../src/api/values/config-annotations.ts';
import { PodConfig, type PodUpdate } from '../../../src/engine/config/pod-config.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  steps: { source: SourceName; pods: Pod[] }[];
}

export const podConfigMerge = tableAdapter<In>('pod-config-merge', ({ steps }) => {
  const config = new PodConfig();
  const merge = ({ source, pods }: In['steps'][number]): PodUpdate[] =>
    config.merge({ id: source, source }, pods, 0).updates;
  return { steps: steps.map((step) => ({ updates: merge(step).map(shown) })) };
});

function shown({ op, source, pods }: PodUpdate): object {
  const listed = pods.map(({ metadata, spec, status }) => {
    const annotations = { ...metadata.annotations };
    Reflect.deleteProperty(annotations, configAnnotations.seen);
    return {
      uid: metadata.uid,
      name: metadata.name,
      annotations,
      labels: metadata.labels ?? {},
      images: spec.containers.map(({ image }) => image),
      phase: status?.phase ?? '',
      deleting: metadata.deletionTimestamp !== undefined,
    };
  });
  if (op === 'REMOVE') listed.sort((a, b) => (a.uid < b.uid ? -1 : 1));
  return { op, source, pods: listed };
}
