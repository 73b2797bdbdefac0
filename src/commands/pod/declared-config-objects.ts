import type { ConfigObject } from '../../api/values/config-object.ts';
import type { SourceName } from '../../api/values/config-annotations.ts';
import { podKey } from '../../api/values/pod-names.ts';
import { readLastGood } from '../../engine/config/last-good/last-good-manifests.ts';
import { loadManifest } from '../../engine/config/load-manifest.ts';

/** An object other than a pod, and the file or URL that declares it. */
export interface DeclaredObject {
  object: ConfigObject;
  where: string;
}

/**
 * The objects of all manifests as the agent read them last, sorted by kind, namespace and name. Works without an agent.
 * Rejects if this user may not read the root-dir.
 */
export async function declaredConfigObjects(rootDir: string, nodeName: string): Promise<DeclaredObject[]> {
  const manifests = await readLastGood(rootDir);
  const found = manifests.flatMap(({ source, where, body }) =>
    loadManifest(body, where, { nodeName }, source).configObjects.map((object) => ({ object, where })),
  );
  return found.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** The source of each pod as the agent read it last, by `namespace/name`. Works without an agent. Never rejects. */
export async function lastDeclarers(
  rootDir: string,
  nodeName: string,
): Promise<ReadonlyMap<string, { source: SourceName; where: string }>> {
  const manifests = await readLastGood(rootDir).catch(() => []);
  return new Map(
    manifests.flatMap(({ source, where, body }) =>
      loadManifest(body, where, { nodeName }, source).pods.map(({ metadata }) => [podKey(metadata), { source, where }]),
    ),
  );
}

const keyOf = ({ object }: DeclaredObject): string => [object.kind, namespaceOf(object), object.name].join('/');

/** Empty for an object of the node. */
export const namespaceOf = (object: ConfigObject): string => ('namespace' in object ? object.namespace : '');
