import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PodStatus } from '../../../src/api/types.ts';
import type { KubeletEvent } from '../../../src/engine/view/events.ts';
import type { EngineSnapshot, PodSnapshot } from '../../../src/engine/view/snapshot.ts';
import { applyChange, computeChange, type SnapshotChange } from '../../../src/engine/view/snapshot-change.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { makeEntry, makeSnapshot, refOf } from '../../tui/make-snapshot.ts';

const names = ['a', 'b', 'c', 'd'];

/** What one step does to the pods and emits. */
const step = fc.record({
  present: fc.shuffledSubarray(names),
  phase: fc.constantFrom('Pending', 'Running', undefined),
  restarted: fc.constantFrom(...names),
  isWorking: fc.boolean(),
  error: fc.option(fc.constant('no disk'), { nil: undefined }),
  isPulling: fc.boolean(),
  runtimeError: fc.option(fc.constant('no answer'), { nil: undefined }),
  of: fc.array(fc.constantFrom(...names), { maxLength: 70 }),
});

interface World {
  snapshot: EngineSnapshot;
  events: KubeletEvent[];
}

function next(before: EngineSnapshot, change: typeof step extends fc.Arbitrary<infer T> ? T : never): World {
  const events = change.of.map((name, at): KubeletEvent =>
    name === 'd'
      ? { at, type: 'PullProgressed', pod: refOf(name), containerName: 'main', image: 'i', receivedBytes: at }
      : { at, type: 'SyncStarted', pod: refOf(name), state: 'sync' },
  );
  const pods = change.present.map((name): PodSnapshot => {
    const old = before.pods.find(({ pod }) => pod.metadata.name === name) ?? makeEntry(name);
    const own = events.filter((event) => event.type === 'SyncStarted' && event.pod.uid === `uid-${name}`);
    const { metadata, spec } = old.pod;
    const status: PodStatus | undefined = change.phase && { ...old.pod.status, phase: change.phase };
    return {
      pod: name === change.restarted ? old.pod : { metadata, spec, ...(status && { status }) },
      source: 'file',
      worker: {
        ...makeEntry(name).worker,
        working: change.isWorking,
        ...(change.error && { lastSyncError: change.error }),
      },
      ...(change.isPulling && { pulls: [{ container: 'main', image: 'i', receivedBytes: change.of.length }] }),
      events: [...old.events, ...own].slice(-64),
    };
  });
  const { runtime } = makeSnapshot();
  const { runtimeError: error } = change;
  return { snapshot: makeSnapshot(pods, { runtime: { ...runtime, ...(error && { error }) } }), events };
}

test('changes that were sent as JSON lead to the same snapshot', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
      let before = makeSnapshot([]);
      let applied = before;
      for (const one of steps) {
        const { snapshot, events } = next(before, one);
        applied = applyChange(
          applied,
          JSON.parse(JSON.stringify(computeChange(before, snapshot, events))) as SnapshotChange,
        );
        expect(applied).toEqual(snapshot);
        before = snapshot;
      }
    }),
    propertyRuns(200),
  );
});

test('a change has only what changed', () => {
  const before = makeSnapshot([makeEntry('a'), makeEntry('b')]);
  const [first, second = makeEntry('b')] = before.pods;
  const worker = { ...second.worker, working: true };
  const after = makeSnapshot([...(first ? [first] : []), { ...second, worker }]);
  expect(computeChange(before, after, [])).toEqual({ pods: [{ uid: 'uid-b', entry: { set: { worker } } }] });
  expect(computeChange(before, makeSnapshot(before.pods), [])).toEqual({});
});
