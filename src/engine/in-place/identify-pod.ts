import type { Pod } from '../../api/types.ts';
import { configAnnotations } from '../../api/values/config-annotations.ts';
import type { InPlacePolicy } from '../../api/values/in-place.ts';
import { computePodChange } from './compute-pod-change.ts';

/** A revision of a declared pod that may run. */
export interface KnownPod {
  pod: Pod;
  /** True if it is stopping or has finished. A changed manifest starts it again. */
  isOver: boolean;
}

/**
 * Returns the declared pod. If it can replace the running revision in place, it keeps that revision's UID. `known` are
 * revisions of the same full name, the most likely one first.
 *
 * The kubelet derives the UID from the manifest, so that each change of a manifest makes a new pod: config/common.go
 * applyDefaults. Here that UID only names the revision, in the annotation `kubernetes.io/config.hash`.
 */
export function identifyPod(declared: Pod, known: readonly KnownPod[], policy: InPlacePolicy): Pod {
  const revision = declared.metadata.uid;
  if (known.some(({ pod }) => pod.metadata.uid === revision)) return declared;
  const running =
    known.find(({ pod }) => revisionOf(pod) === revision) ??
    known.find(({ pod, isOver }) => !isOver && computePodChange(pod, declared, policy).kind !== 'replace');
  return running === undefined ? declared : withUID(declared, running.pod.metadata.uid);
}

/** Returns the name of a pod's revision: the UID that its manifest would give it. */
export function revisionOf({ metadata }: Pod): string {
  return metadata.annotations?.[configAnnotations.hash] ?? metadata.uid;
}

function withUID(pod: Pod, uid: string): Pod {
  return { ...pod, metadata: { ...pod.metadata, uid } };
}
