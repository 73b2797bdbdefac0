import { isDeepStrictEqual } from 'node:util';
import { restartPolicyOf } from '../../api/values/restart-rules.ts';
import type { Container, Pod } from '../../api/types.ts';
import { writtenAnnotations } from '../../api/values/config-annotations.ts';
import { defaultImagePullPolicy } from '../../api/values/image-name.ts';
import { type InPlacePolicy, mayChangeInPlace } from '../../api/values/in-place.ts';
import { hasPodLevelResources } from '../../api/values/pod-level-resources.ts';
import { podQOSClass } from '../../api/values/qos.ts';
import { isSidecar } from '../../api/values/sidecars.ts';
import { containerResize, isLimitRemoved, isResized, withoutResizable } from './container-resize.ts';

/** How a pod changes from one revision to the next. */
export type PodChange =
  | { kind: 'none' }
  | {
      kind: 'inPlace';
      /** Containers whose cpu or memory changes. */
      resize: ResizedContainer[];
      /** True if cpu or memory of the pod as a whole changes. */
      isPodResized: boolean;
      /** Names of containers whose image changes. Only these restart. */
      images: string[];
    }
  /** `because` completes the sentence "The pod is replaced: …". */
  | { kind: 'replace'; because: string };

export interface ResizedContainer {
  name: string;
  /** True if the container's resizePolicy requires a restart. */
  restart: boolean;
}

/**
 * Decides if the next revision can be applied to a running pod in place. It can if only images, cpu and memory of its
 * regular containers and sidecars, or of the pod as a whole, differ. Ignores the UID, the status and the kubelet's own
 * annotations.
 *
 * `policy` is the node's. The kubelet does this only for pods of an API server: kubelet.go canResizePod,
 * pkg/apis/core/validation/validation.go ValidatePodResize, ValidatePodUpdate
 */
export function computePodChange(current: Pod, desired: Pod, policy: InPlacePolicy): PodChange {
  if (!isDeepStrictEqual(frameOf(current), frameOf(desired)) || !haveSamePullPolicies(current, desired)) {
    return { kind: 'replace', because: 'its manifest changed' };
  }
  const pairs = changeable(desired).map((next, index) => ({ before: changeable(current)[index] ?? next, next }));
  const resized = pairs.flatMap(({ before, next }) => {
    const resize = containerResize(before, next);
    return resize === undefined ? [] : [{ name: next.name, restart: resize.restart }];
  });
  const images = pairs.filter(({ before, next }) => before.image !== next.image).map(({ next }) => next.name);
  const isPodResized = isResized(current.spec, desired.spec);
  const isResize = resized.length > 0 || isPodResized;
  if (!isResize && images.length === 0) return { kind: 'none' };
  if (!policy.isEnabled) return { kind: 'replace', because: 'the agent runs with --in-place=false' };
  const restarted = [...images, ...resized.flatMap(({ name, restart }) => (restart ? [name] : []))];
  const because =
    obstacle(desired, restarted) ?? (isResize ? resizeObstacle(current, desired, pairs, policy) : undefined);
  if (because !== undefined) return { kind: 'replace', because };
  return { kind: 'inPlace', resize: resized, isPodResized, images };
}

function obstacle(desired: Pod, restarted: readonly string[]): string | undefined {
  if (!mayChangeInPlace(desired)) return 'its annotation disables changes in place';
  const { spec } = desired;
  const ends = changeable(desired).find(
    (container) => restarted.includes(container.name) && restartPolicyOf(container, spec) !== 'Always',
  );
  return ends && `the restartPolicy of container ${ends.name} is not Always`;
}

function resizeObstacle(
  current: Pod,
  desired: Pod,
  pairs: readonly { before: Container; next: Container }[],
  { isPinning }: InPlacePolicy,
): string | undefined {
  const [before, after] = [podQOSClass({ spec: current.spec }), podQOSClass({ spec: desired.spec })];
  if (before !== after) return `its QoS class changes from ${before} to ${after}`;
  if (isPinning && after === 'Guaranteed') return 'a resource manager assigns processors or memory to it';
  if (isLimitRemoved(current.spec, desired.spec)) return 'a limit of the pod is removed';
  const unlimited = pairs.find((pair) => isLimitRemoved(pair.before, pair.next));
  return unlimited && `a limit of container ${unlimited.next.name} is removed`;
}

/**
 * Returns the containers that can change in place, in a fixed order. A regular init container would have to run again.
 */
function changeable({ spec }: Pod): Container[] {
  return [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers];
}

/** Returns everything that cannot change in place, as plain JSON, because one side may come from disk. */
function frameOf({ metadata: { uid: _uid, annotations, ...metadata }, spec }: Pod): unknown {
  const frame = {
    metadata: { ...metadata, annotations: writtenAnnotations(annotations) },
    spec: {
      ...spec,
      resources: withoutResizable(spec.resources),
      // The cgroup of a pod follows its containers, or the pod.
      hasPodLevelResources: hasPodLevelResources(spec),
      initContainers: spec.initContainers?.map((container) =>
        isSidecar(container) ? containerFrame(container) : container,
      ),
      containers: spec.containers.map(containerFrame),
    },
  };
  return JSON.parse(JSON.stringify(frame)) as unknown;
}

function containerFrame({ image: _image, imagePullPolicy: _policy, resources, ...container }: Container): object {
  return { ...container, resources: withoutResizable(resources) };
}

/** True if each pull policy is unchanged, or follows from the image on both sides. */
function haveSamePullPolicies(current: Pod, desired: Pod): boolean {
  const before = changeable(current);
  return changeable(desired).every(({ image, imagePullPolicy }, index) => {
    const other = before[index];
    const isDefault = imagePullPolicy === defaultImagePullPolicy(image ?? '');
    const wasDefault = other?.imagePullPolicy === defaultImagePullPolicy(other?.image ?? '');
    return imagePullPolicy === other?.imagePullPolicy || (isDefault && wasDefault);
  });
}
