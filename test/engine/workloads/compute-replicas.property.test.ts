import fc from 'fast-check';
import { expect, test } from 'vitest';
import { computeReplicas, type Replica } from '../../../src/engine/workloads/compute-replicas.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { propertyRuns, propertyTimeoutMs } from '../../support/property-runs.ts';

/** One pod of the model. */
interface ModelPod {
  /** Number of the template that it runs. */
  revision: number;
  isReady: boolean;
  isKnown: boolean;
}

const count = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom('0%', '25%', '50%', '100%'));

const workloads = fc.record({
  isStateful: fc.boolean(),
  isParallel: fc.boolean(),
  maxSurge: count,
  maxUnavailable: count,
});

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('ready' as const), ordinal: fc.integer({ min: 0, max: 8 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const), ordinal: fc.integer({ min: 0, max: 8 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('update' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('scale' as const), to: fc.integer({ min: 0, max: 5 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  ),
  { maxLength: 40 },
);

const resolved = (value: number | string, replicas: number, round: (n: number) => number): number =>
  typeof value === 'number' ? value : round((Number(value.slice(0, -1)) * replicas) / 100);

test(
  'an update keeps enough pods available, runs no more than it may, and ends updated if pods become Ready',
  () => {
    const property = fc.property(workloads, steps, ({ isStateful, isParallel, maxSurge, maxUnavailable }, events) => {
      const template = makeStaticPod('web');
      const pods = new Map<number, ModelPod>();
      let [replicas, newest, now] = [3, 1, 0];
      const limits = (): { surge: number; unavailable: number } => {
        const surge = isStateful ? 0 : resolved(maxSurge, replicas, Math.ceil);
        const unavailable = resolved(maxUnavailable, replicas, Math.floor);
        return { surge, unavailable: surge === 0 ? Math.max(1, unavailable) : unavailable };
      };
      const isAvailable = ({ isReady, isKnown }: ModelPod): boolean => isReady && isKnown;
      const availableCount = (): number =>
        [...pods].filter(([ordinal, pod]) => ordinal < replicas + limits().surge && isAvailable(pod)).length;
      const decide = (): void => {
        now += 1000;
        const before = availableCount();
        const replicasNow = [...pods].map(([ordinal, { revision, isReady, isKnown }]): Replica => ({
          ordinal,
          revision: revision === newest ? 'declared' : 'earlier',
          changedAt: 0,
          isPinned: false,
          isKnown,
          ...(isReady && isKnown && { readySince: 0 }),
          isStopping: false,
        }));
        const { wanted } = computeReplicas(
          {
            kind: isStateful ? 'StatefulSet' : 'Deployment',
            namespace: 'default',
            name: 'web',
            replicas,
            firstOrdinal: 0,
            minReadySeconds: 0,
            progressDeadlineSeconds: 600,
            isPaused: false,
            template,
            claims: [],
            update: {
              type: 'RollingUpdate',
              maxSurge: isStateful ? 0 : maxSurge,
              maxUnavailable,
              partition: 0,
              isDescending: isStateful,
              isOrdered: isStateful && !isParallel,
            },
          },
          replicasNow,
          now,
        );
        const { surge, unavailable } = limits();
        const ordinals = new Set(wanted.map(({ ordinal }) => ordinal));
        const scaledDown = [...pods.keys()].filter((ordinal) => ordinal >= replicas + surge).length;
        expect(ordinals.size).toBe(wanted.length);
        expect(wanted.length).toBeLessThanOrEqual(replicas + surge + (isStateful ? scaledDown : 0));
        for (const ordinal of pods.keys()) if (!ordinals.has(ordinal)) pods.delete(ordinal);
        for (const { ordinal, revision } of wanted) {
          const known = pods.get(ordinal);
          const isChanged = known === undefined || (revision === 'declared' && known.revision !== newest);
          if (isChanged) pods.set(ordinal, { revision: newest, isReady: false, isKnown: true });
        }
        // Below the bound only if it was there already.
        expect(availableCount()).toBeGreaterThanOrEqual(Math.min(before, replicas - unavailable));
      };
      for (const event of events) {
        if (event.do === 'update') newest += 1;
        else if (event.do === 'scale') replicas = event.to;
        else if (event.do === 'restart') for (const pod of pods.values()) pod.isKnown = false;
        else {
          const pod = pods.get(event.ordinal);
          if (pod) Object.assign(pod, { isReady: event.do === 'ready', isKnown: true });
        }
        decide();
        decide();
      }
      // From now on every pod becomes Ready, one after the other.
      for (let round = 0; round < 60; round++) {
        for (const pod of pods.values()) Object.assign(pod, { isReady: true, isKnown: true });
        decide();
      }
      expect([...pods].toSorted(([a], [b]) => a - b)).toEqual(
        Array.from({ length: replicas }, (_, ordinal) => [ordinal, { revision: newest, isReady: true, isKnown: true }]),
      );
    });
    fc.assert(property, propertyRuns(500));
  },
  propertyTimeoutMs,
);

test(
  'two revisions never run at once if pods are recreated, and the newest runs in the end',
  () => {
    const events = fc.array(
      fc.oneof(
        { weight: 5, arbitrary: fc.record({ do: fc.constant('stopped' as const), ordinal: fc.nat({ max: 5 }) }) },
        { weight: 2, arbitrary: fc.record({ do: fc.constant('update' as const) }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('scale' as const), to: fc.nat({ max: 5 }) }) },
      ),
      { maxLength: 40 },
    );
    const property = fc.property(events, (steps) => {
      const template = makeStaticPod('web');
      const pods = new Map<number, { revision: number; isStopping: boolean }>();
      let [replicas, newest] = [3, 1];
      const decide = (): void => {
        const known = [...pods].map(([ordinal, { revision, isStopping }]): Replica => ({
          ordinal,
          revision: revision === newest ? 'declared' : 'earlier',
          ...{ changedAt: 0, isPinned: false, isKnown: true, isStopping },
          ...(!isStopping && { readySince: 0 }),
        }));
        const update = { type: 'Recreate', maxSurge: 0, maxUnavailable: '100%', partition: 0 } as const;
        const { wanted } = computeReplicas(
          {
            ...{ kind: 'Deployment', namespace: 'default', name: 'web', replicas, firstOrdinal: 0, minReadySeconds: 0 },
            ...{ progressDeadlineSeconds: 600, isPaused: false, template, claims: [] },
            update: { ...update, isDescending: false, isOrdered: false },
          },
          known,
          1000,
        );
        for (const [ordinal, pod] of pods) if (!wanted.some((one) => one.ordinal === ordinal)) pod.isStopping = true;
        for (const { ordinal, revision } of wanted) {
          const pod = pods.get(ordinal);
          // A pod that stops is replaced when it has stopped, and a single one when its earlier revision has.
          if (pod === undefined) pods.set(ordinal, { revision: newest, isStopping: false });
          else if (revision === 'declared' && pod.revision !== newest) pod.isStopping = true;
        }
        expect(new Set([...pods.values()].map(({ revision }) => revision)).size).toBeLessThanOrEqual(1);
      };
      for (const step of steps) {
        if (step.do === 'update') newest += 1;
        else if (step.do === 'scale') replicas = step.to;
        else if (pods.get(step.ordinal)?.isStopping === true) pods.delete(step.ordinal);
        decide();
      }
      for (let round = 0; round < 20; round++) {
        for (const [ordinal, { isStopping }] of pods) if (isStopping) pods.delete(ordinal);
        decide();
      }
      expect([...pods].toSorted(([a], [b]) => a - b)).toEqual(
        Array.from({ length: replicas }, (_, ordinal) => [ordinal, { revision: newest, isStopping: false }]),
      );
    });
    fc.assert(property, propertyRuns(300));
  },
  propertyTimeoutMs,
);
