import type { StaticPodNode } from '../../api/objects/static-pod.ts';
import { claimedKeys } from '../../api/values/name-owners.ts';
import { readLastGood } from '../config/last-good/last-good-manifests.ts';
import { loadManifest } from '../config/load-manifest.ts';

/**
 * Returns by `claimedKeys` the file or URL that declares each object, as the last agent read them. For commands that
 * run without an agent.
 */
export async function declaredBefore(rootDir: string, node: StaticPodNode): Promise<ReadonlyMap<string, string>> {
  const others = (await readLastGood(rootDir)).filter(({ source }) => source !== 'applied');
  return new Map(
    others.flatMap(({ source, where, body }) =>
      claimedKeys(loadManifest(body, where, node, source)).map((key) => [key, where] as const),
    ),
  );
}
