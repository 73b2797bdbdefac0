import { createHash } from 'node:crypto';
import { loadManifests, type Manifests, type NamePosition } from '../../api/objects/load-manifests.ts';
import type { StaticPodNode } from '../../api/objects/static-pod.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import type { ManifestProblem } from '../view/events.ts';

/** Decodes the bytes of a file or URL. `origin` is the absolute path, or the URL in the form that is shown. */
export function loadManifest(
  bytes: Uint8Array,
  origin: string,
  { nodeName, featureGates, cronJobs, rootDir, allPositions, isPortable }: StaticPodNode,
  source: SourceName = 'file',
): Manifests {
  const node = { nodeName, featureGates, cronJobs, rootDir, allPositions, isPortable };
  return loadManifests(bytes, { origin, ...node, source, hash: podUIDHash });
}

/** True if all problems are warnings. */
export function isGood({ problems }: Pick<Manifests, 'problems'>): boolean {
  return !problems.some(({ severity }) => severity === 'error');
}

/**
 * Returns the problem of a declared name or UID that belongs to another owner. `key` is one of `claimedKeys`; `places`
 * may have its position.
 */
export function declaredAlready(
  origin: string,
  key: string,
  owner: string,
  hint: string,
  positions: readonly NamePosition[] = [],
): ManifestProblem {
  const [kind, namespace = '', name = ''] = key.split('/');
  const position = positions.find((one) => one.key === key);
  return {
    origin,
    ...(position && { line: position.line, column: position.column }),
    severity: 'error',
    field: position?.field ?? fieldOf(kind),
    message: `${key.replace('/', ' ')} is declared by ${owner} already`,
    hint,
    ...(kind === 'Pod' && { repeatedPod: { namespace, name } }),
  };
}

const fieldOf = (kind = ''): string =>
  kind === 'UID' ? 'metadata.uid' : kind === 'NodePort' ? 'spec.ports[].nodePort' : 'metadata.name';

/** Returns a hash for pod UIDs: 32 hex digits, as long as the kubelet's hash. */
export function podUIDHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
