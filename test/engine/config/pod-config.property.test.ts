import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import { configAnnotations } from '../../../src/api/values/config-annotations.ts';
import { PodConfig, type PodUpdate, type SourceId } from '../../../src/engine/config/pod-config.ts';
import { makePod } from '../../builders/pods.ts';
import { propertyRuns, propertyTimeoutMs } from '../../support/property-runs.ts';

const sources: SourceId[] = [
  { id: 'file#0', source: 'file' },
  { id: 'http#1', source: 'http' },
  { id: 'http#2', source: 'http' },
];

/** What varies from one revision of a pod to the next. */
interface Revision {
  uid: string;
  image: string;
  label: string;
  annotations: Record<string, string>;
  phase: string;
  deletionTimestamp: string | undefined;
}

const anyRevision: fc.Arbitrary<Revision> = fc.record({
  uid: fc.constantFrom('a', 'b', 'c', 'd'),
  image: fc.constantFrom('app:1', 'app:2'),
  label: fc.constantFrom('blue', 'green'),
  annotations: fc.dictionary(
    fc.constantFrom('team', configAnnotations.hash, configAnnotations.mirror),
    fc.constantFrom('1', '2'),
  ),
  phase: fc.constantFrom('Pending', 'Running'),
  deletionTimestamp: fc.constantFrom(undefined, undefined, '2025-01-01T00:00:00Z'),
});

const anySet = fc.record({
  source: fc.constantFrom(...sources),
  revisions: fc.uniqueArray(anyRevision, { selector: ({ uid }) => uid }),
});

function podOf({ uid, image, label, annotations, phase, deletionTimestamp }: Revision): Pod {
  const pod = makePod({ metadata: { uid, name: `pod-${uid}`, labels: { label }, annotations: { ...annotations } } });
  return {
    ...pod,
    metadata: { ...pod.metadata, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
    spec: { ...pod.spec, containers: [{ name: 'main', image }] },
    status: { phase },
  };
}

/** What the sync loop knows of one source after the updates it was told of. Throws when it is told what cannot be. */
function follow(known: Map<string, Pod>, updates: readonly PodUpdate[]): void {
  for (const { op, pods } of updates) {
    for (const pod of pods) {
      const { uid } = pod.metadata;
      if (known.has(uid) === (op === 'ADD')) throw new Error(`${op} of ${uid}, known: ${[...known.keys()].join(' ')}`);
      if (op === 'REMOVE') known.delete(uid);
      else known.set(uid, structuredClone(pod));
      // What was handed out is the receiver's own.
      Reflect.set(pod.spec, 'containers', []);
    }
  }
}

/** A pod without the marks of the kubelet, which its manifest does not have. */
function declared(pod: Pod): Pod {
  const local: readonly string[] = [configAnnotations.source, configAnnotations.seen, configAnnotations.mirror];
  const annotations = Object.entries(pod.metadata.annotations ?? {}).filter(([key]) => !local.includes(key));
  return { ...pod, metadata: { ...pod.metadata, annotations: Object.fromEntries(annotations) } };
}

const byUID = (pods: Iterable<Pod>): Pod[] =>
  [...pods].map(declared).sort((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1));

test(
  'whoever follows the updates knows exactly what each source declares',
  () => {
    fc.assert(
      fc.property(fc.array(anySet, { maxLength: 12, size: 'max' }), (sets) => {
        const config = new PodConfig();
        const known = new Map(sources.map(({ id }) => [id, new Map<string, Pod>()]));
        for (const [now, { source, revisions }] of sets.entries()) {
          const { updates } = config.merge(source, revisions.map(podOf), now);
          expect(updates.every(({ sourceId }) => sourceId === source.id)).toBe(true);
          follow(known.get(source.id) ?? new Map<string, Pod>(), updates);
          expect(byUID(known.get(source.id)?.values() ?? [])).toEqual(byUID(revisions.map(podOf)));
        }
      }),
      propertyRuns(100),
    );
  },
  propertyTimeoutMs,
);

test(
  'a list says the same whether unchanged pods are the same objects or copies, and nothing when it is repeated',
  () => {
    fc.assert(
      fc.property(fc.array(anySet, { minLength: 1, maxLength: 12, size: 'max' }), (sets) => {
        const [same, copied] = [new PodConfig(), new PodConfig()];
        const objects = new Map<string, Pod>();
        const objectOf = (revision: Revision): Pod => {
          const key = JSON.stringify(revision);
          if (!objects.has(key)) objects.set(key, podOf(revision));
          return objects.get(key) ?? podOf(revision);
        };
        for (const { source, revisions } of sets) {
          const { updates } = same.merge(source, revisions.map(objectOf), 0);
          expect(updates).toEqual(copied.merge(source, revisions.map(podOf), 0).updates);
          expect(same.merge(source, revisions.map(objectOf), 1).updates).toEqual([]);
          expect(copied.merge(source, revisions.map(podOf), 1).updates).toEqual([]);
        }
      }),
      propertyRuns(100),
    );
  },
  propertyTimeoutMs,
);

test(
  'removals come before additions, and the first list of a source is always sent',
  () => {
    const order = ['REMOVE', 'ADD', 'UPDATE', 'DELETE', 'RECONCILE'];
    fc.assert(
      fc.property(fc.array(anySet, { maxLength: 12, size: 'max' }), (sets) => {
        const config = new PodConfig();
        const seen = new Set<string>();
        for (const { source, revisions } of sets) {
          const ops = config.merge(source, revisions.map(podOf), 0).updates.map(({ op }) => op);
          expect(ops).toEqual([...ops].sort((a, b) => order.indexOf(a) - order.indexOf(b)));
          if (!seen.has(source.id)) expect(ops).not.toEqual([]);
          seen.add(source.id);
        }
      }),
      propertyRuns(100),
    );
  },
  propertyTimeoutMs,
);
