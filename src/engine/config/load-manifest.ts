import { createHash } from 'node:crypto';
import { loadManifests, type Manifests } from '../../api/objects/load-manifests.ts';
import type { StaticPodNode } from '../../api/objects/static-pod.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';

/** What the bytes of a file or of a URL declare. `origin` is the absolute path, or the URL as people see it. */
export function loadManifest(
  bytes: Uint8Array,
  origin: string,
  { nodeName, featureGates, cronJobs }: StaticPodNode,
  source: SourceName = 'file',
): Manifests {
  return loadManifests(bytes, { origin, nodeName, featureGates, cronJobs, source, hash: podUIDHash });
}

/** True if nothing is wrong with it but for warnings. */
export function isGood({ problems }: Pick<Manifests, 'problems'>): boolean {
  return !problems.some(({ severity }) => severity === 'error');
}

/** Hash of pod UIDs: 32 hex digits, as long as the kubelet's own. */
export function podUIDHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
