import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import type { CgroupLimits } from '../../../src/engine/container-manager/pod-cgroup-limits.ts';
import {
  computeLimitChanges,
  type LimitChange,
  unlimitedBytes,
} from '../../../src/engine/kuberuntime/actions/compute-limit-changes.ts';
import { defaultInPlacePolicy } from '../../../src/api/values/in-place.ts';
import { computePodChange } from '../../../src/engine/in-place/compute-pod-change.ts';
import { identifyPod, revisionOf } from '../../../src/engine/in-place/identify-pod.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { propertyRuns, propertyTimeoutMs } from '../../support/property-runs.ts';

const anyResources = fc.record(
  {
    requests: fc.record(
      { cpu: fc.constantFrom('100m', '0.1', '1'), memory: fc.constantFrom('1Mi', '2Mi') },
      { requiredKeys: [] },
    ),
    limits: fc.record({ cpu: fc.constantFrom('1', '2'), memory: fc.constantFrom('2Mi', '4Mi') }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

const anyContainer = (name: string) =>
  fc.record({ name: fc.constant(name), image: fc.constantFrom('app:1', 'app:2', 'app'), resources: anyResources });

const anyRevision: fc.Arbitrary<Pod> = fc
  .record({
    containers: fc.tuple(anyContainer('a'), anyContainer('b')),
    initContainers: fc.option(
      anyContainer('c').map((container) => [{ ...container, restartPolicy: 'Always' }]),
      { nil: undefined },
    ),
    hostname: fc.constantFrom(undefined, undefined, 'web'),
    restartPolicy: fc.constantFrom('Always', 'Always', 'Never'),
  })
  .map((spec) => makeStaticPod('web', { spec: JSON.parse(JSON.stringify(spec)) as object }));

/** The pod without all that can change in place. */
function frame({ spec }: Pod): unknown {
  const without = (containers: Pod['spec']['containers'] = []): unknown =>
    containers.map(({ image: _image, imagePullPolicy: _policy, resources: _resources, ...rest }) => rest);
  return { ...spec, containers: without(spec.containers), initContainers: without(spec.initContainers) };
}

test(
  'a change in place names each container that differs, and nothing else differs',
  () => {
    fc.assert(
      fc.property(anyRevision, anyRevision, (current, desired) => {
        const change = computePodChange(current, desired, defaultInPlacePolicy);
        if (change.kind === 'replace') return;
        expect(frame(current)).toEqual(frame(desired));
        const images = change.kind === 'none' ? [] : change.images;
        const all = ({ spec }: Pod) => [...(spec.initContainers ?? []), ...spec.containers];
        expect(images).toEqual(
          all(desired).flatMap(({ name, image }, index) => (all(current)[index]?.image === image ? [] : [name])),
        );
        // The way back is the same way, but for limits that would be removed.
        const back = computePodChange(desired, current, defaultInPlacePolicy);
        if (back.kind === 'replace') expect(back.because).toContain('is removed');
        else expect(back).toEqual(change);
      }),
      propertyRuns(500),
    );
  },
  propertyTimeoutMs,
);

test(
  'a declared pod keeps its UID, or has that of a revision that it can follow in place or is',
  () => {
    const anyKnown = fc.array(fc.tuple(anyRevision, fc.constantFrom('u1', 'u2'), fc.boolean()), { maxLength: 3 });
    fc.assert(
      fc.property(anyRevision, anyKnown, fc.boolean(), (declared, list, isEnabled) => {
        const known = list.map(([pod, uid, isOver]) => ({
          pod: { ...pod, metadata: { ...pod.metadata, uid } },
          isOver,
        }));
        const { metadata, ...rest } = identifyPod(declared, known, { isEnabled, isPinning: false });
        expect({ ...rest, metadata: { ...metadata, uid: declared.metadata.uid } }).toEqual(declared);
        if (metadata.uid === declared.metadata.uid) return;
        const reasons = known
          .filter(({ pod }) => pod.metadata.uid === metadata.uid)
          .map(
            ({ pod, isOver }) =>
              revisionOf(pod) === declared.metadata.uid ||
              (!isOver && computePodChange(pod, declared, { isEnabled, isPinning: false }).kind !== 'replace'),
          );
        expect(reasons).toContain(true);
      }),
      propertyRuns(500),
    );
  },
  propertyTimeoutMs,
);

test(
  'changes of limits reach those of both sides before the containers, and the next ones after them',
  () => {
    const anyLimits: fc.Arbitrary<CgroupLimits> = fc
      .record(
        {
          cpuShares: fc.integer({ min: 2, max: 262_144 }),
          cpuQuotaMicros: fc.constantFrom(-1, 1000, 50_000),
          memoryBytes: fc.bigInt({ min: 1n, max: 2n ** 40n }),
        },
        { requiredKeys: ['cpuShares'] },
      )
      .map((limits) => ({ ...limits, hugePageLimits: new Map() }));
    const quota = ({ cpuQuotaMicros = -1 }: CgroupLimits): number => (cpuQuotaMicros < 0 ? Infinity : cpuQuotaMicros);
    const memory = ({ memoryBytes }: CgroupLimits): number => Number(memoryBytes ?? unlimitedBytes);
    fc.assert(
      fc.property(anyLimits, anyLimits, (current, next) => {
        const { raise, lower } = computeLimitChanges(current, next);
        const after = (from: CgroupLimits, changes: readonly LimitChange[]): CgroupLimits =>
          changes.reduce<CgroupLimits>((limits, change) => ({ ...limits, ...change }), from);
        const raised = after(current, raise);
        expect(raised.cpuShares).toBe(Math.max(current.cpuShares ?? 0, next.cpuShares ?? 0));
        expect(quota(raised)).toBe(Math.max(quota(current), quota(next)));
        expect(memory(raised)).toBe(Math.max(memory(current), memory(next)));
        const lowered = after(raised, lower);
        expect([lowered.cpuShares, quota(lowered), memory(lowered)]).toEqual([
          next.cpuShares,
          quota(next),
          memory(next),
        ]);
      }),
      propertyRuns(500),
    );
  },
  propertyTimeoutMs,
);
