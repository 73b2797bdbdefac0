import type { Container } from '../../api/types.ts';
import { compareQuantities, toQuantity } from '../../api/values/quantity.ts';

type Resources = NonNullable<Container['resources']>;

/** Resources that can change in place. */
const resizable = ['cpu', 'memory'] as const;
const parts = ['requests', 'limits'] as const;

/** A change of a container's cpu or memory. */
export interface ContainerResize {
  /** True if the resizePolicy of a changed resource requires a restart. */
  restart: boolean;
  /** Texts such as `memory limit 64Mi → 128Mi`. */
  changes: string[];
}

/** A container, or the spec of a pod. */
type Sized = Pick<Container, 'resources'>;

/** True if cpu and memory differ. Compares the amounts, not how they are written. */
export function isResized(current: Sized, desired: Sized): boolean {
  return changedAmounts(current, desired).length > 0;
}

/** True if the container has no limit where that of its pod changes. */
export function followsPod({ resources }: Sized, current: Sized, desired: Sized): boolean {
  return changedAmounts(current, desired).some(
    ({ part, resource }) => part === 'limits' && isNone(resources?.limits?.[resource]),
  );
}

/** Each change of an amount, as a metric counts it. kubelet: metrics/metrics.go ContainerRequestedResizes */
export function requestedResizes(current: Sized, desired: Sized) {
  return changedAmounts(current, desired).map(({ resource, part, before, after }) => ({
    operation: operationOf(before, after),
    requirement: part,
    resource,
  }));
}

function operationOf(before: string | undefined, after: string | undefined): string {
  if (before === undefined) return 'add';
  if (after === undefined) return 'remove';
  return compareQuantities(toQuantity(before), toQuantity(after)) < 0 ? 'increase' : 'decrease';
}

function changedAmounts(current: Sized, desired: Sized) {
  return resizable.flatMap((resource) =>
    parts.flatMap((part) => {
      const [before, after] = [current.resources?.[part]?.[resource], desired.resources?.[part]?.[resource]];
      return isSameAmount(before, after) ? [] : [{ resource, part, before, after }];
    }),
  );
}

/** Returns undefined if cpu and memory stay the same. */
export function containerResize(
  current: Sized,
  desired: Pick<Container, 'resources' | 'resizePolicy'>,
): ContainerResize | undefined {
  const changed = changedAmounts(current, desired);
  if (changed.length === 0) return undefined;
  const restart = (desired.resizePolicy ?? []).some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === 'RestartContainer' && changed.some(({ resource }) => resource === resourceName),
  );
  const words = { requests: 'request', limits: 'limit' };
  return {
    restart,
    changes: changed.map(
      ({ resource, part, before, after }) => `${resource} ${words[part]} ${before ?? 'none'} → ${after ?? 'none'}`,
    ),
  };
}

/** True if a limit of cpu or memory is removed. A runtime cannot remove a limit from a running container. */
export function isLimitRemoved(current: Sized, desired: Sized): boolean {
  return resizable.some(
    (resource) => !isNone(current.resources?.limits?.[resource]) && isNone(desired.resources?.limits?.[resource]),
  );
}

/** Returns the resources that cannot change in place. Returns undefined if there are none. */
export function withoutResizable(resources: Resources | undefined): Partial<Resources> | undefined {
  const kept = Object.entries(resources ?? {}).flatMap(([part, amounts]) => {
    if (part !== 'requests' && part !== 'limits') return [[part, amounts] as const];
    const others = Object.entries(amounts as Record<string, string>).filter(
      ([resource]) => !resizable.some((name) => name === resource),
    );
    return others.length === 0 ? [] : [[part, Object.fromEntries(others)] as const];
  });
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

const isNone = (text: string | undefined): boolean => toQuantity(text).nanos === 0n;

/** A missing amount differs from zero, because defaults and sums treat it differently. */
function isSameAmount(before: string | undefined, after: string | undefined): boolean {
  if (before === after) return true;
  if (before === undefined || after === undefined) return false;
  return compareQuantities(toQuantity(before), toQuantity(after)) === 0;
}
