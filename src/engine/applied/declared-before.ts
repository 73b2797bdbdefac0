import type { StaticPodNode } from '../../api/objects/static-pod.ts';
import { claimedKeys } from '../../api/values/name-owners.ts';
import { readLastGood } from '../config/last-good/last-good-manifests.ts';
import { loadManifest } from '../config/load-manifest.ts';

/**
 * Where objects are declared by files and URLs, as the last agent read them, by `claimedKeys`. For commands without an
 * agent.
 */
export async function declaredBefore(rootDir: string, node: StaticPodNode): Promise<ReadonlyMap<string, string>> {
  const others = (await readLastGood(rootDir)).filter(({ source }) => source !== 'applied');
  return new Map(
    others.flatMap(({ source, where, body }) =>
      claimedKeys(loadManifest(body, where, node, source)).map((key) => [key, where] as const),
    ),
  );
}
