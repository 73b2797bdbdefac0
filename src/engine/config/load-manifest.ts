import { createHash } from 'node:crypto';
import { loadManifests, type Manifests } from '../../api/objects/load-manifests.ts';
import type { StaticPodNode } from '../../api/objects/static-pod.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';

/** Decodes the bytes of a file or URL. `origin` is the absolute path, or the URL as it is shown. */
export function loadManifest(
  bytes: Uint8Array,
  origin: string,
  { nodeName, featureGates, cronJobs }: StaticPodNode,
  source: SourceName = 'file',
): Manifests {
  return loadManifests(bytes, { origin, nodeName, featureGates, cronJobs, source, hash: podUIDHash });
}

/** True if all problems are warnings. */
export function isGood({ problems }: Pick<Manifests, 'problems'>): boolean {
  return !problems.some(({ severity }) => severity === 'error');
}

/** Hash for pod UIDs: 32 hex digits, the length of the kubelet's hash. */
export function podUIDHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
