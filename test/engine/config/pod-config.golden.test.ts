import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { configAnnotations, PodConfig, type PodUpdate } from '../../../src/engine/config/pod-config.ts';
import type { SourceName } from '../../../src/engine/events.ts';
import { loadTable } from '../../golden-tables.ts';

interface In {
  steps: { source: SourceName; pods: Pod[] }[];
}

test.each(loadTable<In, { steps: { updates: object[] }[] }>('pod-config-merge'))(
  'merge of pod sources, case %#',
  ({ in: { steps }, out }) => {
    const config = new PodConfig();
    const merged = steps.map(({ source, pods }) => ({
      updates: config.merge({ id: source, source }, pods, 0).updates.map(shown),
    }));
    expect(merged).toEqual(out.steps);
  },
);

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
